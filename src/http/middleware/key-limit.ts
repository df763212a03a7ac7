import type { MiddlewareHandler } from 'hono';
import type { ApiEnv } from '../../env.ts';
import { rateLimited, takeFromLimit } from '../limiter.ts';

/** Applies the key's own limit, or the deployment's for keys that have none. */
export function keyLimit(): MiddlewareHandler<ApiEnv> {
  return async function keyLimit(c, next) {
    const { organizationId, keyId, limit } = c.var.principal;
    const applied = await takeFromLimit(c, 'key', `${organizationId}:${keyId}`, limit ?? c.var.settings.keyLimit);
    if (applied) {
      c.set('appliedLimit', applied);
      if (!applied.decision.admitted) throw rateLimited(applied);
    }
    await next();
  };
}
