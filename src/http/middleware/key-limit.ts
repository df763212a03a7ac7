import type { MiddlewareHandler } from 'hono';
import { stricter } from '../../domain/rate-limit.ts';
import type { ApiEnv, AppliedLimit, PrincipalScope } from '../../env.ts';
import { rateLimited, takeFromLimit } from '../limiter.ts';
import { Problem } from '../problem.ts';

/** Applies the key's own limit where it is the lower one, else the deployment's. */
export function keyLimit(): MiddlewareHandler<ApiEnv> {
  return async function keyLimit(c, next) {
    let applied = await take(c);
    const confirmKey = c.get('confirmKey');
    if (refused(applied) && confirmKey) {
      // Refused under the limit of some time ago: the key may be dead by now, or have another one.
      const before = c.get('principal').limit;
      await confirmKey();
      const { limit } = c.get('principal');
      if (limit?.quota !== before?.quota || limit?.windowMs !== before?.windowMs) applied = await take(c);
    }
    if (applied) c.set('appliedLimit', applied);
    if (refused(applied)) throw new Problem(...rateLimited(applied));
    await next();
  };
}

function take(c: PrincipalScope): Promise<AppliedLimit | undefined> {
  const { organizationId, keyId, limit } = c.get('principal');
  return takeFromLimit(c, 'key', `${organizationId}:${keyId}`, stricter(limit, c.get('settings').keyLimit));
}

function refused(applied: AppliedLimit | undefined): applied is AppliedLimit {
  return applied?.decision.admitted === false;
}
