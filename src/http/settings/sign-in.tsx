import type { MiddlewareHandler } from 'hono';
import { jwtVerify } from 'jose';
import { JOSEError } from 'jose/errors';
import type { SignIn } from '../../config.ts';
import { provenEmail } from '../../domain/sign-in-token.ts';
import { type Administration, administrationsOf } from '../../services/directory/administrators.ts';
import { type AdminEnv, type AppEnv, type ContextOf, serviceContext } from '../hono-env.ts';
import { askedPath } from '../not-found.ts';
import { PageProblem } from './page-problem.ts';

const ALGORITHMS = ['RS256', 'ES256'];

/** jose's errors for signing keys that could not be read. */
const UNREADABLE_KEYS = ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWK_INVALID', 'ERR_JWKS_INVALID'];

/** Whether the token is wrong. Any other error means that the issuer's signing keys could not be read. */
const isInvalidToken = (err: unknown) => err instanceof JOSEError && !UNREADABLE_KEYS.includes(err.code);

/**
 * The organizations of the person that the request's token names, at most 100, with
 * `organizationId` among them if the person administers it.
 * @throws PageProblem if the token names no administrator
 */
export async function signedInAdministrations(
  c: ContextOf<AppEnv> & { set(name: 'signedInAs', email: string): void },
  organizationId?: string,
): Promise<Administration[]> {
  const { signIn } = c.get('config');
  if (!signIn) {
    throw new PageProblem(
      503,
      'The settings area is not configured',
      'Set team and audience in the file of the deployment, and deploy again. Without Cloudflare Access, set ADMIN_ISSUER, ADMIN_JWKS_URL and ADMIN_TOKEN_HEADER instead of team.',
    );
  }
  const email = await verifiedEmail(c, signIn);
  c.set('signedInAs', email);
  const administrations = await administrationsOf(serviceContext(c), email, organizationId);
  if (administrations.length > 0) return administrations;
  throw new PageProblem(
    403,
    'No access',
    'You are signed in, but you are not an active administrator of any organization in this service. Ask an administrator of your organization to give you access.',
  );
}

/** Requires an administrator of the organization in the path. Other administrators get a 404. */
export function signIn(): MiddlewareHandler<AdminEnv, '/:organization/*'> {
  return async function signIn(c, next) {
    const id = c.req.param('organization');
    const administrations = await signedInAdministrations(c, id);
    const administration = administrations.find(({ organization }) => organization.id === id);
    if (!administration) {
      throw new PageProblem(
        404,
        'No organization of yours is at this URL',
        `You are signed in as ${administrations[0]?.email}, who administers no organization at ${askedPath(c)}. Check the URL, or sign in with another account.`,
      );
    }
    c.set('administrator', {
      ...administration,
      organizations: administrations.map(({ organization }) => organization),
    });
    return next();
  };
}

async function verifiedEmail(c: ContextOf<AppEnv>, { header, issuer, audience, keys }: SignIn): Promise<string> {
  const token = c.req.header(header)?.replace(/^Bearer +/i, '');
  if (token === undefined)
    throw new PageProblem(401, 'Sign in', 'This page is for administrators. Sign in and open it again.');
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp', 'email'],
      currentDate: new Date(c.get('now')()),
    });
    const email = provenEmail(payload, issuer, c.get('now')());
    if (email !== undefined) return email;
  } catch (err) {
    if (!isInvalidToken(err)) {
      throw new PageProblem(
        503,
        'Sign-in is unavailable',
        'The signing keys of the sign-in service could not be read. Try again in a minute.',
        err,
      );
    }
  }
  throw new PageProblem(
    401,
    'Sign in again',
    'Your sign-in has expired or is not valid for this service. Sign in and open the page again.',
  );
}
