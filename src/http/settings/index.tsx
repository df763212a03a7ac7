import { type Context, Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { ServiceError, type ServiceErrorCode } from '../../domain/errors.ts';
import { log } from '../../lib/log.ts';
import { MAX_LISTED_ORGANIZATIONS } from '../../services/directory/administrators.ts';
import type { AdminEnv, AppEnv } from '../context.ts';
import { securePages } from '../middleware/secure-pages.ts';
import { audit } from './audit.tsx';
import { guardForms } from './forms.ts';
import { keys } from './keys.tsx';
import { PageProblem } from './page-problem.ts';
import { ChooseOrganizationPage } from './pages/choose-organization.tsx';
import { refusedUses } from './refused-uses.tsx';
import { render } from './render.tsx';
import { signedInAdministrations, signIn } from './sign-in.ts';

/** Everything comes from this origin, no script or style is inline, and no other page may frame it. */
const POLICY = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'"],
  connectSrc: ["'self'"],
  formAction: ["'self'"],
  baseUri: ["'none'"],
  frameAncestors: ["'none'"],
};

/** The settings area: /settings leads to the administrator's organizations, /settings/{organization} holds the pages of one. */
export function createSettings() {
  const pages = new Hono<AdminEnv>()
    .use(signIn())
    .get('/', (c) => c.redirect(`/settings/${c.get('administrator').organization.id}/keys`, 303))
    .route('/', keys)
    .route('/', audit)
    .route('/', refusedUses);

  return new Hono<AppEnv>()
    .use(securePages(POLICY, 'same-origin'), ...guardForms())
    .get('/', async (c) => {
      const organizations = (await signedInAdministrations(c)).map(({ organization }) => organization);
      const [first, second] = organizations;
      // Never choose for the administrator: any tenant can name them as its own and be first by name.
      if (first && !second) return c.redirect(`/settings/${first.id}/keys`, 303);
      const isComplete = organizations.length < MAX_LISTED_ORGANIZATIONS;
      const { signIn } = c.get('config');
      const page = { organizations, isComplete, signOutPath: signIn?.signOutPath };
      return render(c, 'Choose an organization', <ChooseOrganizationPage {...page} />);
    })
    .route('/:organization', pages)
    .all('*', () => {
      throw new PageProblem(404, 'Not found', 'There is nothing at this address.');
    })
    .onError(answerWithPage);
}

/** Every error of the settings area becomes a page. Unexpected errors are logged, never shown. */
function answerWithPage(err: Error, c: Context<AppEnv>): Response | Promise<Response> {
  const { status, title, detail } = toPageProblem(err, c);
  const administrator = c.get('administrator');
  const page = (
    <>
      <p>{detail}</p>
      <p>
        <a href={administrator ? `/settings/${administrator.organization.id}/keys` : '/settings'}>To the settings</a>
      </p>
    </>
  );
  return render(c, title, page, status);
}

/** The page for each expected failure that an administrator can meet. Any other code is a fault of ours here. */
const PAGES: Partial<Record<ServiceErrorCode, (err: ServiceError, isRead: boolean) => PageProblem>> = {
  not_administrator: () =>
    new PageProblem(403, 'No access', 'You are no longer an administrator of this organization.'),
  key_not_found: () => new PageProblem(404, 'Not found', 'Your organization has no such key.'),
  key_not_live: () =>
    new PageProblem(
      409,
      'This key is not in use',
      'It has expired or was revoked, which cannot be undone. Create a new key instead.',
    ),
  key_already_rotated: () =>
    new PageProblem(
      409,
      'This key was rotated already',
      'A key has at most one successor. Open the key to see its successor; rotate that one if necessary.',
    ),
  key_changed_meanwhile: () =>
    new PageProblem(
      409,
      'Another administrator changed this key',
      'The key was changed after you opened the form, so nothing was saved. Open the form again to see the changes.',
    ),
  unavailable,
};

/** What an administrator can do if a key cannot be revoked. */
const BLOCK_INSTEAD =
  'If a key has to stop at once, ask the operator of this service to put its hint, as the list of keys shows it, into BLOCKED_KEYS: that works without the database.';

function unavailable({ database, cause }: ServiceError, isRead: boolean): PageProblem {
  if (isRead) {
    const detail = 'The database did not answer. Nothing was changed; open the page again in a moment.';
    return new PageProblem(503, 'Not available now', detail, cause);
  }
  if (database === 'read_only') {
    const detail = `The database takes no changes at the moment: it is full or read-only, so the change was not made. A key that was to be revoked still works. ${BLOCK_INSTEAD}`;
    return new PageProblem(503, 'Not done', detail, cause);
  }
  const detail = `The database did not answer, and it is not certain whether the change was made. Open the page again in a moment to see. ${BLOCK_INSTEAD}`;
  return new PageProblem(503, 'Not available now', detail, cause);
}

function toPageProblem(err: Error, c: Context<AppEnv>): PageProblem {
  const requestId = c.get('requestId');
  if (err instanceof PageProblem) {
    if (err.status >= 500) log('error', 'settings_unavailable', { requestId, cause: err.cause ?? err });
    return err;
  }
  const page = err instanceof ServiceError ? PAGES[err.code]?.(err, c.req.method === 'GET') : undefined;
  if (page) {
    if (page.status >= 500) log('error', 'unavailable', { requestId, cause: page.cause });
    return page;
  }
  if (err instanceof HTTPException && err.status === 403) {
    const detail =
      'The form was not sent from a page of this address, so nothing was done. Open the page and send it from there.';
    return new PageProblem(403, 'Not from here', detail);
  }
  log('error', 'internal_error', { requestId, cause: err });
  const detail = `The fault is on our side. If it stays that way, tell us the request id: ${requestId}`;
  return new PageProblem(500, 'Something went wrong', detail);
}
