import { createLocalJWKSet, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { SignIn } from '../../src/config.ts';

const ISSUER = 'https://northwind.cloudflareaccess.com';
const AUDIENCE = 'settings';

/** Changes to a valid token. */
export interface TokenChanges {
  claims?: JWTPayload;
  issuer?: string;
  audience?: string;
  /** Seconds from now. */
  expiresIn?: number;
  /** Signed with a key that is not published. */
  forged?: boolean;
  /** The clock of the issuer, in UTC milliseconds. */
  now?: () => number;
}

/**
 * A sign-in service: its configuration, the keys that it publishes, and a function that signs
 * tokens. Cloudflare Access signs with RS256, whose keys take 100 times as long to generate.
 */
export async function makeSignIn(alg: 'ES256' | 'RS256' = 'ES256') {
  const own = await generateKeyPair(alg);
  const other = await generateKeyPair(alg);
  const jwks = { keys: [{ ...(await exportJWK(own.publicKey)), alg, kid: 'own' }] };
  const config: SignIn = {
    issuer: ISSUER,
    audience: AUDIENCE,
    header: 'Cf-Access-Jwt-Assertion',
    keys: createLocalJWKSet(jwks),
    signOutPath: '/sign-out',
  };

  async function token(
    email: string,
    { claims, issuer, audience, expiresIn = 60, forged = false, now = Date.now }: TokenChanges = {},
  ): Promise<string> {
    return new SignJWT({ email, ...claims })
      .setProtectedHeader({ alg, kid: 'own' })
      .setIssuer(issuer ?? ISSUER)
      .setAudience(audience ?? AUDIENCE)
      .setExpirationTime(Math.floor(now() / 1000) + expiresIn)
      .sign(forged ? other.privateKey : own.privateKey);
  }
  return { config, jwks, token };
}
