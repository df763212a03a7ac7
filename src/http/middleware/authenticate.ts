import type { MiddlewareHandler } from 'hono';
import { isWellFormedKey, type Scope, whyUnauthorized } from '../../domain/api-key.ts';
import { Unauthorized } from '../../domain/refusal.ts';
import type { ApiEnv } from '../../env.ts';
import { findKey } from '../../services/authenticate.ts';
import { serviceContext } from '../service-context.ts';

/** RFC 6750 §2.1; the scheme's name is case-insensitive (RFC 9110 §11.1). */
const BEARER = /^Bearer +(\S+)$/i;

/** Lets through a live key that holds the scope, if one is asked for, and puts its principal into the context. */
export function authenticate(scope?: Scope): MiddlewareHandler<ApiEnv> {
  return async function authenticate(c, next) {
    const header = c.req.header('Authorization');
    if (header === undefined) throw new Unauthorized('missing');
    const value = BEARER.exec(header)?.[1];
    if (value === undefined || !isWellFormedKey(value, c.var.settings.keyPrefix)) throw new Unauthorized('malformed');
    const key = await findKey(serviceContext(c), value);
    if (!key) throw new Unauthorized('unknown');
    const reason = whyUnauthorized(key, c.var.now(), scope);
    if (reason) throw new Unauthorized(reason, key);
    c.set('principal', key);
    await next();
  };
}
