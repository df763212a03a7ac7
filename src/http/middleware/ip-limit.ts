import type { MiddlewareHandler } from 'hono';
import { overriddenLimit } from '../../domain/ip-limit-overrides.ts';
import type { AppEnv } from '../context.ts';
import { problem } from '../problems.ts';
import { rateLimited, takeFromLimit } from '../rate-limit.ts';

/** Applies the limit of the caller's address group, before anything else of the request is examined. */
export function ipLimit(): MiddlewareHandler<AppEnv> {
  return async function ipLimit(c, next) {
    const { ipLimit, ipLimitOverrides } = c.get('config');
    const source = c.get('source');
    const addressGroup = c.get('addressGroup');
    const policy = overriddenLimit(ipLimitOverrides, source.address) ?? ipLimit;
    const applied = await takeFromLimit(c, 'ip', addressGroup, policy);
    if (applied && !applied.decision.admitted) {
      c.set('appliedLimit', applied);
      // Not thrown: capturing a stack would be a large part of the cost of a flood.
      return problem(c, ...rateLimited(applied));
    }
    return next();
  };
}
