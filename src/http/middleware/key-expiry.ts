import type { MiddlewareHandler } from 'hono';
import type { ObservedEnv } from '../../env.ts';

/** Tells a caller whose key expires when it will, in `Api-Key-Expires-At`, so that an automation can warn in time. A 401 tells nothing. */
export function keyExpiry(): MiddlewareHandler<ObservedEnv> {
  return async function keyExpiry(c, next) {
    await next();
    const expiresAt = c.get('principal')?.expiresAt ?? null;
    if (expiresAt !== null && c.res.status !== 401) c.header('Api-Key-Expires-At', new Date(expiresAt).toISOString());
  };
}
