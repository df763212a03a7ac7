import type { MiddlewareHandler } from 'hono';
import { overriddenLimit } from '../../domain/ip-limit-overrides.ts';
import type { AppEnv } from '../../env.ts';
import { rateLimited, takeFromLimit } from '../limiter.ts';

/** Applies the limit of the caller's address group, before anything else is looked at. */
export function ipLimit(): MiddlewareHandler<AppEnv> {
  return async function ipLimit(c, next) {
    const { settings, source, addressGroup } = c.var;
    const policy = overriddenLimit(settings.ipLimitOverrides, source.address) ?? settings.ipLimit;
    const applied = await takeFromLimit(c, 'ip', addressGroup, policy);
    if (applied && !applied.decision.admitted) {
      c.set('appliedLimit', applied);
      throw rateLimited(applied);
    }
    await next();
  };
}
