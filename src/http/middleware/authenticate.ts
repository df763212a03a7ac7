import type { MiddlewareHandler } from 'hono';
import { errorOf, ServiceError, Unauthorized } from '../../domain/errors.ts';
import type { Scope } from '../../domain/scopes.ts';
import { trimOws } from '../../lib/trim-ows.ts';
import type { ApiEnv } from '../hono-env.ts';
import { KeyCheck } from '../key-check.ts';

/** RFC 6750 §2.1; the scheme's name is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^Bearer +(\S+)$/i;

/** The value in an Authorization header with the scheme Bearer; undefined in any other form. */
export function bearerValue(header: string): string | undefined {
  return BEARER.exec(trimOws(header))?.[1];
}

/** Admits a live key with the scope, if one is required. See `KeyCheck` for what may rely on the cache. */
export function authenticate(scope?: Scope): MiddlewareHandler<ApiEnv> {
  return async function authenticate(c, next) {
    const header = c.req.header('Authorization');
    if (header === undefined) throw new Unauthorized('missing');
    const value = bearerValue(header);
    if (value === undefined) throw new Unauthorized('malformed');

    const check = await KeyCheck.start(c, value, scope);
    c.set('keyCheck', check);

    await next();
    // A service throws these after D1 decided. No error means that a service returned.
    const decidedByD1 = c.error === undefined || c.error instanceof ServiceError || c.error instanceof Unauthorized;
    if (check.isStale && !decidedByD1) {
      const response = c.res;
      // Clear it first: Hono copies the old response's headers onto the new one.
      c.res = undefined;
      await check.refresh();
      if (!c.get('principal').hasPsa) throw errorOf('psa_not_included');
      c.res = response;
    }
    if (c.res.status === 401 || c.res.status === 403) check.forget();
  };
}
