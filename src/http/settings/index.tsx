import { type Context, Hono } from 'hono';
import { trimTrailingSlash } from 'hono/trailing-slash';
import { hasCode, ServiceError, type ServiceErrorCode } from '../../domain/errors.ts';
import { log } from '../../lib/log.ts';
import type { AdminEnv, AppEnv, AppliedLimit } from '../hono-env.ts';
import { requireHost } from '../middleware/guard.ts';
import { limitByIp, limitInWords } from '../middleware/limits.ts';
import { securePages } from '../middleware/secure-pages.ts';
import { askedPath } from '../not-found.ts';
import { retryAfter } from '../problems.ts';
import { audit } from './audit.tsx';
import { chooseOrganization } from './choose-organization.tsx';
import { enteredByHand } from './entered-by-hand.tsx';
import { guardForms } from './guard-forms.ts';
import { guardSearches } from './guard-searches.ts';
import { oneKey } from './key.tsx';
import { keyList } from './key-list.tsx';
import { keyRules } from './key-rules.tsx';
import { lostWrites } from './lost-writes.tsx';
import { newKey } from './new-key.tsx';
import { addressOf, pageContext } from './page-context.ts';
import { PageProblem } from './page-problem.ts';
import { SearchForm } from './pages/components.tsx';
import { push } from './push.tsx';
import { refusedRequests } from './refused-requests.tsx';
import { render } from './render-page.tsx';
import { revokeKeys } from './revoke-keys.tsx';
import { signIn } from './sign-in.tsx';
import { timeEntries } from './time-entries.tsx';
import { whichKey } from './which-key.tsx';

/** /settings leads to the administrator's organizations, /settings/{organization} serves the pages of one. */
export function createSettings() {
  const pages = new Hono<AdminEnv>()
    .use(signIn(), guardSearches())
    .get('/', (c) => c.redirect(`/settings/${c.get('administrator').organization.id}/keys`, 303))
    .route('/', keyList)
    .route('/', newKey)
    .route('/', oneKey)
    .route('/', whichKey)
    .route('/', revokeKeys)
    .route('/', timeEntries)
    .route('/', enteredByHand)
    .route('/', audit)
    .route('/', refusedRequests)
    .route('/', lostWrites)
    .route('/', keyRules)
    .route('/', push);

  return (
    new Hono<AppEnv>()
      .use(requireHost, securePages(), limitByIp('settings', refuseWithPage))
      // As the documentation does.
      .use(trimTrailingSlash({ alwaysRedirect: true }), ...guardForms)
      .get('/', guardSearches(), chooseOrganization)
      .route('/:organization', pages)
      .all('*', (c) => {
        const detail = `There is no page ${askedPath(c)}. Choose a tab, or search the keys.`;
        throw new PageProblem(404, 'This page does not exist', detail);
      })
      .onError(respondWithPage)
  );
}

/** The 429 of the settings area: the same limit and headers as in the API, on a page. */
function refuseWithPage(c: Context<AppEnv>, applied: AppliedLimit): Response | Promise<Response> {
  const wait = retryAfter(applied.decision.retryAfterMs);
  c.get('requestStats').problem = 'rate_limited';
  c.header('Retry-After', wait);
  return problemPage(c, {
    status: 429,
    title: 'Too many requests',
    detail: `${limitInWords(applied)}; open the page again after ${wait} s.`,
  });
}

/** Responds to every error with a page. Unexpected errors are logged and not shown. */
function respondWithPage(err: Error, c: Context<AppEnv>): Response | Promise<Response> {
  const requestId = c.get('requestId');
  const problem = toPageProblem(err, c.req.method === 'GET', requestId);
  const event = problem.status === 500 ? 'internal_error' : 'settings_unavailable';
  if (problem.status >= 500) log('error', event, { requestId, cause: problem.cause ?? err });
  return problemPage(c, problem, hasCode(err, 'key_already_rotated') ? err.info.keyId : undefined);
}

function problemPage(
  c: Context<AppEnv>,
  { status, title, detail }: Pick<PageProblem, 'status' | 'title' | 'detail'>,
  successorId?: string,
): Response | Promise<Response> {
  const { to, text } = wayOn(c, status);
  const base = pageContext(c)?.base;
  const signOutPath = c.get('signedInAs') && c.get('config').signIn?.signOutPath;
  const page = (
    <>
      <p>{detail}</p>
      {status === 404 && base !== undefined && (
        <SearchForm id="find" to={`${base}/keys`} label="Keys, owners, addresses" text={undefined} fields={[]} />
      )}
      <p class="row">
        {successorId && (
          <a href={`${base}/keys/${successorId}`} class="button">
            Open its successor
          </a>
        )}
        <a href={to}>{text}</a>
      </p>
      {base === undefined && signOutPath && (
        <p>
          <a href={signOutPath} data-sign-out>
            Sign in with another account
          </a>
        </p>
      )}
    </>
  );
  return render(c, title, page, { status });
}

/** Where an error page leads: after a conflict or a bad filter, to the page without filters, and from a file to its list. */
function wayOn(c: Context<AppEnv>, status: number): { to: string; text: string } {
  const base = pageContext(c)?.base;
  if (base === undefined && status === 429 && c.req.method === 'GET')
    return { to: addressOf(c.req.path, c.req.query()), text: 'Try again' };
  if (base === undefined) return { to: '/settings', text: 'All organizations' };
  const path = c.req.path.slice(base.length);
  const [, list] = /^(\/[a-z]+)(?:-[a-z]+)?\.csv$/.exec(path) ?? [];
  if (list && (status === 409 || status === 429)) {
    const { before: _, separator: __, ...query } = c.req.query();
    return { to: addressOf(`${base}${list}`, query), text: 'Go back' };
  }
  const [page] = /^\/keys\/[^/]+|^\/[^/]+/.exec(path) ?? [];
  if (page && (status === 400 || status === 409)) return { to: `${base}${list ?? page}`, text: 'Go back' };
  return { to: `${base}/keys`, text: 'All API keys' };
}

function toPageProblem(err: Error, isRead: boolean, requestId: string): PageProblem {
  if (err instanceof PageProblem) return err;
  if (hasCode(err, 'unavailable')) return unavailable(err, isRead);
  const known = err instanceof ServiceError ? PAGE_PROBLEMS[err.code] : undefined;
  if (known) return new PageProblem(...known);
  const detail = `The error is on our side. If it happens again, send us the request ID: ${requestId}`;
  return new PageProblem(500, 'Something went wrong', detail);
}

/** The page for each error code that an administrator can cause. Others are internal errors. */
const PAGE_PROBLEMS: Partial<Record<ServiceErrorCode, ConstructorParameters<typeof PageProblem>>> = {
  not_administrator: [403, 'No access', 'You are no longer an administrator of this organization.'],
  key_not_found: [404, 'No key with this ID', 'Check the URL, or search the list of keys.'],
  key_not_live: [
    409,
    'This key no longer works',
    'The key has expired or was revoked, and neither can be undone. Create its replacement on the page of the key.',
  ],
  key_already_rotated: [
    409,
    'This key already has a successor',
    'A key can have only one. Rotate its successor if you need another key.',
  ],
  not_pushed: [409, 'Nothing to resume', 'This service pushes no changes to your PSA.'],
  being_erased: [403, 'No access', 'The operator is erasing this organization.'],
};

/** The administrator's alternatives when a key cannot be revoked. */
const BLOCK_INSTEAD =
  'To stop a key immediately, ask the operator of this service to add the key’s hint to BLOCKED_KEYS. It works without the database.';

function unavailable({ info: { database }, cause }: ServiceError, isRead: boolean): PageProblem {
  const problem = (title: string, detail: string) => new PageProblem(503, title, detail, cause);
  if (isRead) {
    return problem(
      'Temporarily unavailable',
      'The database did not respond. Nothing was changed. Open the page again in a moment.',
    );
  }
  if (database === 'read_only') {
    return problem(
      'Change not saved',
      `The database is full or read-only, so the change was not saved. If you tried to revoke a key, the key still works. ${BLOCK_INSTEAD}`,
    );
  }
  return problem(
    'Temporarily unavailable',
    `The database did not respond, so the change may or may not have been saved. Open the page again in a moment to check. ${BLOCK_INSTEAD}`,
  );
}
