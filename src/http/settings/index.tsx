import { type Context, Hono } from 'hono';
import { ServiceError, type ServiceErrorCode } from '../../domain/errors.ts';
import { log } from '../../lib/log.ts';
import type { Part } from '../../module.ts';
import type { AdminEnv, AppEnv, AppliedLimit } from '../hono-env.ts';
import { limitByIp } from '../middleware/limit-by-ip.ts';
import { securePages } from '../middleware/secure-pages.ts';
import { limitInWords, retryAfter } from '../take-from-limit.ts';
import { accessReview } from './access-review.tsx';
import { audit } from './audit.tsx';
import { chooseOrganization } from './choose-organization.tsx';
import { guardForms } from './forms.ts';
import { keyList } from './key-list.tsx';
import { keyRules } from './key-rules.tsx';
import { keys } from './keys.tsx';
import { PageProblem } from './page-problem.ts';
import { refusedUses } from './refused-uses.tsx';
import { render } from './render-page.tsx';
import { revokeKeys } from './revoke-keys.tsx';
import { signIn } from './sign-in.ts';
import { whichKey } from './which-key.tsx';

/** /settings leads to the administrator's organizations, /settings/{organization} serves the pages of one. */
export function createSettings(parts: readonly Part[]) {
  const pages = new Hono<AdminEnv>()
    .use(signIn())
    .get('/', (c) => c.redirect(`/settings/${c.get('administrator').organization.id}/keys`, 303))
    .route('/', keyList)
    .route('/', keys)
    .route('/', whichKey)
    .route('/', revokeKeys)
    .route('/', audit)
    .route('/', refusedUses)
    .route('/', keyRules)
    .route('/', accessReview);
  for (const { settings } of parts) if (settings) pages.route('/', settings);

  return new Hono<AppEnv>()
    .use(securePages(), limitByIp('settings', refuseWithPage), ...guardForms())
    .get('/', chooseOrganization)
    .route('/:organization', pages)
    .all('*', () => {
      throw new PageProblem(404, 'Not found', 'This page does not exist.');
    })
    .onError(respondWithPage);
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
  return problemPage(c, toPageProblem(err, c));
}

function problemPage(
  c: Context<AppEnv>,
  { status, title, detail }: Pick<PageProblem, 'status' | 'title' | 'detail'>,
): Response | Promise<Response> {
  const { to, text } = wayOn(c, status);
  const page = (
    <>
      <p>{detail}</p>
      <p>
        <a href={to}>{text}</a>
      </p>
    </>
  );
  return render(c, title, page, { status });
}

/** Where an error page leads: after a conflict, to the page that shows the change. */
function wayOn(c: Context<AppEnv>, status: number): { to: string; text: string } {
  const [to, subject] =
    /^\/settings\/[^/]+\/(?:(key)s\/[^/]+|(access-review|key-rules))/.exec(c.req.path)?.filter(Boolean) ?? [];
  if (status === 409 && to && subject) return { to, text: `Open the ${subject.replace('-', ' ')}` };
  const administrator = c.get('administrator');
  return {
    to: administrator ? `/settings/${administrator.organization.id}/keys` : '/settings',
    text: 'Go to settings',
  };
}

/** The page for each error code that an administrator can cause. Others are internal errors. */
const PAGES: Partial<Record<ServiceErrorCode, (err: ServiceError, isRead: boolean) => PageProblem>> = {
  not_administrator: () =>
    new PageProblem(403, 'No access', 'You are no longer an administrator of this organization.'),
  key_not_found: () => new PageProblem(404, 'Not found', 'Your organization has no key with this ID.'),
  key_not_live: () =>
    new PageProblem(
      409,
      'This key no longer works',
      'The key has expired or was revoked, and neither can be undone. Create a new key instead.',
    ),
  key_already_rotated: () =>
    new PageProblem(
      409,
      'This key was already rotated',
      'A key can have only one successor. Open the key to see its successor. Rotate the successor if you need another key.',
    ),
  access_review_not_found: () => new PageProblem(404, 'Not found', 'Your organization has no review with this ID.'),
  access_review_finished: () =>
    new PageProblem(
      409,
      'The review is finished',
      'An administrator has finished the review, so its decisions cannot be changed. Nothing was saved.',
    ),
  access_review_changed_meanwhile: () =>
    new PageProblem(
      409,
      'The review has changed',
      'A key still needs a decision, or another administrator changed a decision. Nothing was revoked, and the review is still open. Open the review again.',
    ),
  too_many_changes: ({ detail }) => new PageProblem(429, 'Too many changes today', detail),
  being_erased: () => new PageProblem(403, 'No access', 'The operator is erasing this organization.'),
  unavailable,
};

/** The administrator's alternatives when a key cannot be revoked. */
const BLOCK_INSTEAD =
  'To stop a key immediately, ask the operator of this service to add the key’s hint to BLOCKED_KEYS. The list of keys shows the hint. BLOCKED_KEYS works without the database.';

function unavailable({ database, cause }: ServiceError, isRead: boolean): PageProblem {
  if (isRead) {
    const detail = 'The database did not respond. Nothing was changed. Open the page again in a moment.';
    return new PageProblem(503, 'Temporarily unavailable', detail, cause);
  }
  if (database === 'read_only') {
    const detail = `The database is full or read-only, so the change was not saved. If you tried to revoke a key, the key still works. ${BLOCK_INSTEAD}`;
    return new PageProblem(503, 'Change not saved', detail, cause);
  }
  const detail = `The database did not respond, so the change may or may not have been saved. Open the page again in a moment to check. ${BLOCK_INSTEAD}`;
  return new PageProblem(503, 'Temporarily unavailable', detail, cause);
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
  log('error', 'internal_error', { requestId, cause: err });
  const detail = `This is an error on our side. If it happens again, send us the request ID: ${requestId}`;
  return new PageProblem(500, 'Something went wrong', detail);
}
