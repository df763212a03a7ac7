import type { MiddlewareHandler } from 'hono';
import { addressGroup } from '../../domain/client-address.ts';
import type { AppEnv } from '../../env.ts';
import { rateLimited, takeFromLimit } from '../limiter.ts';

/** Applies the limit of the caller's address group, before anything else is looked at. */
export function ipLimit(): MiddlewareHandler<AppEnv> {
  return async function ipLimit(c, next) {
    const applied = await takeFromLimit(c, 'ip', addressGroup(c.req.header('CF-Connecting-IP')), c.var.settings.ipLimit);
    if (applied && !applied.decision.admitted) {
      c.set('appliedLimit', applied);
      throw rateLimited(applied);
    }
    await next();
  };
}
