import { emailAddress } from './fields.ts';

/** The claims of a sign-in token whose signature, issuer and audience were verified. Times are in seconds. */
interface Claims {
  exp?: number | undefined;
  iat?: number | undefined;
  email?: unknown;
  email_verified?: unknown;
}

/** A team of Cloudflare Access, which verifies email addresses and therefore sends no `email_verified`. */
const ACCESS_ISSUER = /^https:\/\/[a-z0-9-]+\.cloudflareaccess\.com$/;

/** Cloudflare Access allows sessions of up to 30 days. A token that lives longer is a mistake. */
const MAX_LIFETIME_SECONDS = 31 * 24 * 3600;

/** The email address, in lower case, that a verified token proves at `now`; undefined if it proves none. */
export function provenEmail({ exp, iat, email, email_verified: verified }: Claims, issuer: string, now: number) {
  const isVerified = verified === true || (verified === undefined && ACCESS_ISSUER.test(issuer));
  const seconds = now / 1000;
  // A time of issue in the future would make the lifetime look short.
  const issuedAt = Math.min(iat ?? seconds, seconds);
  const isShortLived = exp !== undefined && exp - issuedAt <= MAX_LIFETIME_SECONDS;
  // The same shape as in the directory. It is ASCII only: the Kelvin sign would become `k` in lower case.
  return isVerified && isShortLived ? emailAddress('an email address').safeParse(email).data : undefined;
}
