import type { Context } from 'hono';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Part } from '../../module.ts';
import type { KeyDetails } from '../../services/keys/read-keys.ts';
import type { AdminEnv, AppEnv, ContextOf } from '../hono-env.ts';
import type { FormState } from './forms.ts';
import { PageProvider, pageContext } from './page-context.ts';
import { Layout, type PageHead } from './pages/settings-layout.tsx';

/** Responds with a page, which has the header of an organization if an administrator is signed in. */
export async function render<E extends AdminEnv | AppEnv>(
  c: Context<E>,
  title: string,
  content: Child,
  { status = 200, ...head }: PageHead & { status?: ContentfulStatusCode } = {},
): Promise<Response> {
  const administrator = c.get('administrator');
  const { signIn, settingsLinks } = c.get('config');
  const parts: readonly Part[] = c.get('parts');
  const banners = administrator && parts.flatMap(({ banner }) => banner?.(administrator) ?? []);
  const page = {
    ...head,
    title,
    administrator,
    banners,
    path: c.req.path,
    signOutPath: signIn?.signOutPath,
    settingsLinks,
  };
  return c.html(
    <PageProvider value={pageContext(c)}>
      <Layout {...page}>{content}</Layout>
    </PageProvider>,
    status,
  );
}

/** Responds with a form: as it is opened, or as it was sent, with its errors or after a conflict. */
export function renderForm(c: Context<AdminEnv>, title: string, page: Child, { messages }: FormState, head: PageHead) {
  const hasErrors = messages !== undefined && Object.keys(messages).length > 0;
  const status = messages === undefined ? 200 : hasErrors ? 400 : 409;
  return render(c, title, page, { ...head, status, hasErrors });
}

/** The way back from a page below the list of keys, and from one below the page of a key. */
export function trail(c: ContextOf<AdminEnv>, key?: KeyDetails): NonNullable<PageHead['trail']> {
  const { base } = pageContext(c);
  const list = { href: `${base}/keys`, text: 'All keys' };
  return key ? [list, { href: `${base}/keys/${key.id}`, text: key.name }] : [list];
}
