import type { MiddlewareHandler } from 'hono';
import { stricter } from '../../domain/rate-limit.ts';
import type { ApiEnv, AppliedLimit, PrincipalScope } from '../../env.ts';
import { rateLimited, takeFromLimit } from '../limiter.ts';

/** Applies the key's own limit where it is the lower one, else the deployment's. */
export function keyLimit(): MiddlewareHandler<ApiEnv> {
  return async function keyLimit(c, next) {
    let applied = await take(c);
    if (refused(applied) && c.var.confirmKey) {
      // Refused under a remembered limit: the key may be dead by now, or have another limit.
      const before = c.var.principal.limit;
      await c.var.confirmKey();
      const { limit } = c.var.principal;
      if (limit?.quota !== before?.quota || limit?.windowMs !== before?.windowMs) applied = await take(c);
    }
    if (applied) c.set('appliedLimit', applied);
    if (refused(applied)) throw rateLimited(applied);
    await next();
  };
}

function take(c: PrincipalScope): Promise<AppliedLimit | undefined> {
  const { organizationId, keyId, limit } = c.var.principal;
  return takeFromLimit(c, 'key', `${organizationId}:${keyId}`, stricter(limit, c.var.settings.keyLimit));
}

function refused(applied: AppliedLimit | undefined): applied is AppliedLimit {
  return applied?.decision.admitted === false;
}
