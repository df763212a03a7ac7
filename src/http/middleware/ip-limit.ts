import type { MiddlewareHandler } from 'hono';
import { ipLimitOf } from '../../domain/ip-limit.ts';
import type { AppEnv } from '../context.ts';
import { problem } from '../problems.ts';
import { rateLimited, takeFromLimit } from '../rate-limit.ts';

/** Applies the limits of the caller's address, before anything else of the request is examined. */
export function ipLimit(): MiddlewareHandler<AppEnv> {
  return async function ipLimit(c, next) {
    const { ipLimit, ipLimitOverrides } = c.get('config');
    const limit = ipLimitOf(c.get('source').address, ipLimit, ipLimitOverrides);
    const applied = await takeFromLimit(c, { name: 'ip', ...limit });
    if (applied && !applied.decision.admitted) {
      c.set('appliedLimit', applied);
      // Not thrown: capturing a stack would be a large part of the cost of a flood.
      return problem(c, ...rateLimited(applied));
    }
    return next();
  };
}
