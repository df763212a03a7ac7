import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { Unauthorized } from '../../domain/errors.ts';
import { log } from '../../lib/log.ts';
import type { AppEnv } from '../context.ts';

/** Writes one log line for each request after its response was made. Of the caller's input it has only the method and the User-Agent. */
export function requestLog(): MiddlewareHandler<AppEnv> {
  return async function requestLog(c, next) {
    const started = Date.now();
    await next();
    const { requestId, addressGroup, source, config, requestStats, principal, administrator } = c.var;
    const { status } = c.res;
    const refused = c.error instanceof Unauthorized ? c.error : undefined;
    const key = principal ?? refused?.key;
    const isPaused = config.mode === 'paused' && requestStats.problem === 'unavailable';
    log(status >= 500 && !isPaused ? 'error' : 'log', 'request', {
      requestId,
      method: c.req.method,
      route: routeOf(c),
      status,
      // A 401 has no code, even if another problem was the response before the key was read.
      problem: refused ? undefined : requestStats.problem,
      reason: refused?.reason,
      key: key?.keyId,
      lookup: requestStats.lookup,
      organization: key?.organizationId ?? administrator?.organization.id,
      administrator: administrator?.userId,
      address: addressGroup,
      userAgent: source.userAgent ?? undefined,
      ms: Date.now() - started,
      d1Calls: requestStats.d1Calls,
      limiterCalls: requestStats.limiterCalls,
    });
  };
}

/** The pattern of the matched route, or the widest one that covers it: never the path, which may hold anything. */
function routeOf(c: Context<AppEnv>): string | undefined {
  const routes = matchedRoutes(c);
  return (routes.find(({ method }) => method !== 'ALL') ?? routes.at(-1))?.path;
}
