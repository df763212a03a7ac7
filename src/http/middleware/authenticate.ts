import type { MiddlewareHandler } from 'hono';
import { errorOf, ServiceError, Unauthorized } from '../../domain/errors.ts';
import { log } from '../../lib/log.ts';
import { trimOws } from '../../lib/trim-ows.ts';
import { findKey, findKeyNearby } from '../../services/keys/find-key.ts';
import { type ApiEnv, serviceContext } from '../hono-env.ts';
import { KeyCheck, type RequiredScope } from '../key-check.ts';

/** RFC 6750 §2.1; the scheme's name is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^Bearer +(\S+)$/i;

/** The value in an Authorization header with the scheme Bearer; undefined in any other form. */
export function bearerValue(header: string): string | undefined {
  return BEARER.exec(trimOws(header))?.[1];
}

/** Admits a live key with the scope, if one is required. See `KeyCheck` for what may rely on the cache. */
export function authenticate(scope?: RequiredScope): MiddlewareHandler<ApiEnv> {
  return async function authenticate(c, next) {
    const header = c.req.header('Authorization');
    if (header === undefined) throw new Unauthorized('missing');
    const value = bearerValue(header);
    if (value === undefined) throw new Unauthorized('malformed');

    const { keyPrefix, blockedKeys } = c.get('config');
    const warn =
      (event: string) =>
      (cause: unknown): undefined => {
        log('warn', event, { requestId: c.get('requestId'), cause });
      };
    const source = {
      keyPrefix,
      blockedKeys,
      cache: c.get('caches').keys,
      now: c.get('now'),
      address: c.get('source').address,
      stats: c.get('requestStats'),
      find: (hash: string) => c.get('span')('findKey', () => findKey(serviceContext(c), hash)),
      findNearby: (hash: string) =>
        c
          .get('span')('findKeyNearby', () => findKeyNearby(serviceContext(c), hash))
          .catch(warn('nearby_key_not_read')),
    };
    const { check, key } = await KeyCheck.start(source, value, scope, warn('blocked_key_not_read'));
    c.set('keyCheck', check);
    c.set('principal', key);

    await next();
    // A service throws these after D1 decided. No error means that a service returned.
    const decidedByD1 = c.error === undefined || c.error instanceof ServiceError || c.error instanceof Unauthorized;
    if (check.isStale && !decidedByD1) {
      const response = c.res;
      // Clear it first: Hono copies the old response's headers onto the new one.
      c.res = undefined;
      const principal = await check.refresh();
      c.set('principal', principal);
      if (!principal.hasPsa) throw errorOf('psa_not_included');
      c.res = response;
    }
    if (c.res.status === 401 || c.res.status === 403) check.forget();
  };
}
