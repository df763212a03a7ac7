import type { Context, MiddlewareHandler } from 'hono';
import { ipLimitOf } from '../../domain/ip-limit.ts';
import type { AppEnv, AppliedLimit } from '../hono-env.ts';
import { problem } from '../problems.ts';
import { rateLimited } from '../rate-limit-response.ts';
import { takeFromLimit } from '../take-from-limit.ts';

type Refuse = (c: Context<AppEnv>, applied: AppliedLimit) => Response | Promise<Response>;

// Not thrown: capturing a stack would be a large part of the cost of a flood.
const refuseWithProblem: Refuse = (c, applied) => problem(c, ...rateLimited(applied));

/** Counted separately: a flood of one area blocks no other, so an administrator can still revoke a key. */
type LimitedArea = 'api' | 'psa' | 'settings' | 'site';

/** Applies the limits of the caller's IP address, before its key or body is read. */
export function limitByIp(area: LimitedArea, refuse: Refuse = refuseWithProblem): MiddlewareHandler<AppEnv> {
  return async function limitByIp(c, next) {
    const limit = ipLimitOf(c.get('source').address, c.get('config').ipLimit);
    const subject = area === 'api' ? limit.subject : `${area}:${limit.subject}`;
    const applied = await takeFromLimit(c, { name: 'ip', ...limit, subject });
    if (applied && !applied.decision.admitted) {
      c.set('appliedLimit', applied);
      return refuse(c, applied);
    }
    return next();
  };
}
