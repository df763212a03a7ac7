import type { MiddlewareHandler } from 'hono';
import type { AppEnv } from '../hono-env.ts';

/** Sends the key's expiry in `Api-Key-Expires-At`, except on a 401, so that clients can warn in time. */
export function keyExpiry(): MiddlewareHandler<AppEnv> {
  return async function keyExpiry(c, next) {
    await next();
    const expiresAt = c.get('principal')?.expiresAt ?? null;
    if (expiresAt !== null && c.res.status !== 401) c.header('Api-Key-Expires-At', new Date(expiresAt).toISOString());
  };
}
