import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { KeyDetails } from '../../services/keys/read-keys.ts';
import type { AdminEnv, AppEnv, ContextOf } from '../hono-env.ts';
import { Frame } from '../page/frame.tsx';
import { Icon } from '../page/icon.tsx';
import { type FormState, searchedCompany } from './forms.ts';
import { keyListPath, readKeyQuery } from './key-query.ts';
import { pageContext, takeNotice } from './page-context.ts';
import { Banner } from './pages/components.tsx';
import { AreaTabs, Bar } from './pages/header.tsx';
import { Time } from './pages/time.tsx';

/** The status of a page, and the parts around its title. */
interface PageHead {
  status?: ContentfulStatusCode;
  /** The pages between the list of keys and this one. */
  trail?: readonly { href: string; text: string }[];
  lead?: Child;
  actions?: Child;
  /** The name of the user on a page of no organization. */
  userName?: string | undefined;
  hasErrors?: boolean;
  isOnce?: boolean;
}

/** Responds with a page, which has the header of an organization if an administrator is signed in. */
export async function render<E extends AdminEnv | AppEnv>(
  c: Context<E>,
  title: string,
  content: Child,
  { status = 200, trail, lead, actions, userName, hasErrors, isOnce }: PageHead = {},
): Promise<Response> {
  const administrator = c.get('administrator');
  const email = c.get('signedInAs');
  const { signIn } = c.get('config');
  const { path } = c.req;
  const notice = status === 200 && takeNotice(c);
  const page = (
    <Frame
      title={`${hasErrors ? 'Error: ' : ''}${title}${administrator ? ` · ${administrator.organization.name}` : ''}`}
      isOnce={isOnce}
      home="/settings"
      bar={<Bar {...{ administrator, email, userName, path }} signOutPath={signIn?.signOutPath} />}
      tabs={administrator && <AreaTabs {...{ administrator, path }} isMissing={status === 404} />}
      footer={
        administrator && (
          <>
            Times in {administrator.organization.timeZone.replaceAll('_', ' ')}, as of <Time at={c.get('now')()} />
          </>
        )
      }
    >
      {trail && <Trail pages={trail} />}
      <div class="head">
        <div>
          <h1>{title}</h1>
          {lead}
        </div>
        {actions && <div class="head-actions">{actions}</div>}
      </div>
      {notice && (
        <Banner tone={notice.tone} id="notice">
          {notice.text}
        </Banner>
      )}
      {content}
    </Frame>
  );
  return c.html(page, status);
}

/** Responds with a form: as it is opened, or as it was sent, with its errors, after a search or after a conflict. */
export function renderForm(
  c: Context<AdminEnv>,
  title: string,
  page: Child,
  { values, messages }: FormState,
  head: PageHead,
) {
  const hasErrors = messages !== undefined && Object.keys(messages).length > 0;
  const status = hasErrors ? 400 : messages === undefined || searchedCompany(values) !== undefined ? 200 : 409;
  return render(c, status === 409 ? `Not saved: ${title}` : title, page, { ...head, status, hasErrors });
}

/**
 * The way back from a page below the list of keys, and from one below the page of a key. An address with the filters of
 * a list leads back to that list.
 */
export function trail(c: ContextOf<AdminEnv>, key?: KeyDetails): NonNullable<PageHead['trail']> {
  const { base } = pageContext(c);
  const list = { href: keyListPath(base, readKeyQuery(new URL(c.req.url).searchParams)), text: 'All keys' };
  return key ? [list, { href: `${base}/keys/${key.id}`, text: key.name }] : [list];
}

/** The way back. Its first link is not named like the tab, so that each name leads to one link. */
const Trail = ({ pages }: { pages: NonNullable<PageHead['trail']> }) => (
  <nav class="trail" aria-label="Breadcrumb">
    <Icon name="left" />
    {pages.map(({ href, text }) => (
      <a href={href}>
        <bdi>{text}</bdi>
      </a>
    ))}
  </nav>
);
