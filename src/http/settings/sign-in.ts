import type { MiddlewareHandler } from 'hono';
import { errors, jwtVerify } from 'jose';
import { ACCESS_HEADER, type RequestScope, type SettingsEnv, type SignIn } from '../../env.ts';
import { type Administration, administrationsOf } from '../../services/directory/administrators.ts';
import { serviceContext } from '../service-context.ts';
import { PageProblem } from './page-problem.ts';

const ALGORITHMS = ['RS256', 'ES256'];
const FORBIDDEN = new PageProblem(
  403,
  'No access',
  'You are signed in, but you are not an active administrator of any organization here. Ask an administrator of yours to make you one.',
);

/** What is wrong with a token itself, whereas anything else means that the issuer's keys could not be had. */
const INVALID_TOKEN = [
  errors.JWTClaimValidationFailed,
  errors.JWTExpired,
  errors.JWTInvalid,
  errors.JWSInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSEAlgNotAllowed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
];

/** The organizations of whoever the request's token names. @throws PageProblem if it names nobody. */
export async function signedInAdministrations(c: RequestScope): Promise<Administration[]> {
  const { signIn } = c.get('settings');
  if (!signIn) {
    throw new PageProblem(
      503,
      'The settings area is not configured',
      'Set ADMIN_ISSUER and ADMIN_AUDIENCE (and, unless Cloudflare Access signs people in, ADMIN_JWKS_URL and ADMIN_TOKEN_HEADER) and deploy again. The API works meanwhile.',
    );
  }
  const administrations = await administrationsOf(serviceContext(c), await verifiedEmail(c, signIn));
  if (administrations.length === 0) throw FORBIDDEN;
  return administrations;
}

/** Lets through an administrator of the organization in the address. To everyone else it does not exist. */
export function signIn(): MiddlewareHandler<SettingsEnv, '/:organization/*'> {
  return async function signIn(c, next) {
    const administrations = await signedInAdministrations(c);
    const administration = administrations.find(({ organization }) => organization.id === c.req.param('organization'));
    if (!administration) throw new PageProblem(404, 'Not found', 'There is nothing at this address.');
    c.set('administrator', { ...administration, organizations: administrations.map(({ organization }) => organization) });
    await next();
  };
}

async function verifiedEmail(c: RequestScope, { header, issuer, audience, keys }: SignIn): Promise<string> {
  const token = c.req.header(header)?.replace(/^Bearer +/i, '');
  if (token === undefined) throw new PageProblem(401, 'Sign in first', 'This page is for administrators. Sign in and open it again.');
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      requiredClaims: ['exp', 'email'],
      currentDate: new Date(c.get('now')()),
    });
    const { email, email_verified: verified } = payload;
    // Access proves every address itself and has no such claim; elsewhere anyone may have typed in an address that is not said to be verified.
    const isVerified = verified === true || (verified === undefined && header === ACCESS_HEADER);
    if (typeof email === 'string' && isVerified) return email;
  } catch (err) {
    if (!INVALID_TOKEN.some((invalid) => err instanceof invalid)) {
      throw new PageProblem(
        503,
        'Sign-in is not available',
        'The keys of the sign-in service could not be read. Try again in a minute.',
        err,
      );
    }
  }
  throw new PageProblem(401, 'Sign in again', 'Your sign-in has expired or is not valid here. Sign in and open the page again.');
}
