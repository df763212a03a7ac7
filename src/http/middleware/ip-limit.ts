import type { Context, MiddlewareHandler } from 'hono';
import { ipLimitOf } from '../../domain/ip-limit.ts';
import type { AppEnv, AppliedLimit } from '../context.ts';
import { problem } from '../problems.ts';
import { rateLimited, takeFromLimit } from '../rate-limit.ts';

type Refuse = (c: Context<AppEnv>, applied: AppliedLimit) => Response | Promise<Response>;

// Not thrown: capturing a stack would be a large part of the cost of a flood.
const refuseWithProblem: Refuse = (c, applied) => problem(c, ...rateLimited(applied));

/**
 * Applies the limits of the caller's address, before anything else of the request is examined.
 * `refuse` makes the 429; the default is that of the API.
 */
export function ipLimit(refuse: Refuse = refuseWithProblem): MiddlewareHandler<AppEnv> {
  return async function ipLimit(c, next) {
    const { ipLimit, ipLimitOverrides } = c.get('config');
    const limit = ipLimitOf(c.get('source').address, ipLimit, ipLimitOverrides);
    const applied = await takeFromLimit(c, { name: 'ip', ...limit });
    if (applied && !applied.decision.admitted) {
      c.set('appliedLimit', applied);
      return refuse(c, applied);
    }
    return next();
  };
}
