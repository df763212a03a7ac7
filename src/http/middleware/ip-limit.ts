import type { MiddlewareHandler } from 'hono';
import { overriddenLimit } from '../../domain/ip-limit-overrides.ts';
import type { AppEnv } from '../../env.ts';
import { rateLimited, takeFromLimit } from '../limiter.ts';
import { problem } from '../problem.ts';

/** Applies the limit of the caller's address group, before anything of the request is looked at. */
export function ipLimit(): MiddlewareHandler<AppEnv> {
  return async function ipLimit(c, next) {
    const settings = c.get('settings');
    const source = c.get('source');
    const addressGroup = c.get('addressGroup');
    const policy = overriddenLimit(settings.ipLimitOverrides, source.address) ?? settings.ipLimit;
    const applied = await takeFromLimit(c, 'ip', addressGroup, policy);
    if (applied && !applied.decision.admitted) {
      c.set('appliedLimit', applied);
      // Not thrown: the stack of an error would be a good part of what a flood costs.
      return problem(c, ...rateLimited(applied));
    }
    return next();
  };
}
