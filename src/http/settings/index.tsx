import { type Context, Hono } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { secureHeaders } from 'hono/secure-headers';
import { D1Failure } from '../../db/client.ts';
import { NotAdministrator, Refusal } from '../../domain/errors.ts';
import type { ObservedEnv, SettingsEnv } from '../../env.ts';
import { log } from '../../lib/log.ts';
import { audit } from './audit.tsx';
import { guardForms } from './forms.ts';
import { keys } from './keys.tsx';
import { PageProblem } from './page-problem.ts';
import { render } from './render.tsx';
import { signedInAdministrations, signIn } from './sign-in.ts';

/** Everything comes from this origin, nothing is written into the page, and no other page may frame it. */
const protectPages = () =>
  secureHeaders({
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      connectSrc: ["'self'"],
      formAction: ["'self'"],
      baseUri: ["'none'"],
      frameAncestors: ["'none'"],
    },
    // Of this host alone: what its neighbours do is theirs to say.
    strictTransportSecurity: 'max-age=15552000',
    xFrameOptions: 'DENY',
    referrerPolicy: 'same-origin',
  });

/** The settings area: /settings leads to the first of one's organizations, /settings/{organization} holds its pages. */
export function createSettings() {
  const pages = new Hono<SettingsEnv>()
    .use(signIn())
    .get('/', (c) => c.redirect(`/settings/${c.get('administrator').organization.id}/keys`, 303))
    .route('/', keys)
    .route('/', audit);

  return new Hono<ObservedEnv>()
    .use(protectPages(), ...guardForms())
    .get('/', async (c) => {
      const [first] = await signedInAdministrations(c);
      return c.redirect(`/settings/${first?.organization.id}/keys`, 303);
    })
    .route('/:organization', pages)
    .all('*', () => {
      throw new PageProblem(404, 'Not found', 'There is nothing at this address.');
    })
    .onError(answerWithPage);
}

/** What remains when a key cannot be revoked. */
const BLOCK_INSTEAD =
  'If a key has to stop at once, have the operator of this service put its hint, as the list of keys shows it, into BLOCKED_KEYS: that works without the database.';

/** Every error of the settings area becomes a page; what nobody expected is logged, never shown. */
function answerWithPage(err: Error, c: Context<ObservedEnv>): Response | Promise<Response> {
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

function toPageProblem(err: Error, c: Context<ObservedEnv>): PageProblem {
  const requestId = c.get('requestId');
  if (err instanceof PageProblem) {
    if (err.status >= 500) log('error', 'settings_unavailable', { requestId, cause: err.cause ?? err });
    return err;
  }
  if (err instanceof NotAdministrator)
    return new PageProblem(403, 'No access', 'You are not an administrator of this organization any more.');
  if (err instanceof HTTPException && err.status === 403) {
    return new PageProblem(
      403,
      'Not from here',
      'The form was not sent from a page of this address, so nothing was done. Open the page and send it from there.',
    );
  }
  if (err instanceof Refusal && err.code === 'unavailable') {
    log('error', err.code, { requestId, cause: err.cause });
    if (c.req.method === 'GET') {
      return new PageProblem(
        503,
        'Not available now',
        'The database did not answer. Nothing was changed; open the page again in a moment.',
      );
    }
    return err.cause instanceof D1Failure && err.cause.kind === 'read_only'
      ? new PageProblem(
          503,
          'Not done',
          `The database takes no changes at the moment: it is full or read-only, so what you asked for was not done. A key that was to be revoked still works. ${BLOCK_INSTEAD}`,
        )
      : new PageProblem(
          503,
          'Not available now',
          `The database did not answer, and it is not certain that the change was made. Open the page again in a moment and look. ${BLOCK_INSTEAD}`,
        );
  }
  log('error', 'internal_error', { requestId, cause: err });
  return new PageProblem(
    500,
    'Something went wrong',
    `The fault is on our side. If it stays that way, tell us the request id: ${requestId}`,
  );
}
