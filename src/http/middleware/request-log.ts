import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { addressGroup } from '../../domain/client-address.ts';
import { Unauthorized } from '../../domain/errors.ts';
import { log } from '../../lib/log.ts';
import type { AppEnv } from '../hono-env.ts';

/** Writes one line per request. Of the caller's input it has only the method and the User-Agent. */
export function requestLog(): MiddlewareHandler<AppEnv> {
  return async function requestLog(c, next) {
    const started = Date.now();
    await next();
    const requestStats = c.get('requestStats');
    const { address, userAgent } = c.get('source');
    const { status } = c.res;
    const refused = c.error instanceof Unauthorized ? c.error : undefined;
    const key = c.get('principal') ?? refused?.key;
    const administrator = c.get('administrator');
    const isPaused = c.get('config').mode === 'paused' && requestStats.problem === 'unavailable';
    log(status >= 500 && !isPaused ? 'error' : 'log', 'request', {
      requestId: c.get('requestId'),
      method: c.req.method,
      route: routeOf(c),
      status,
      // A 401 has no code, even if there was another problem before the key was read.
      problem: refused ? undefined : requestStats.problem,
      reason: refused?.reason ?? requestStats.messageFault,
      dryRun: requestStats.dryRun,
      key: key?.keyId,
      lookup: requestStats.lookup,
      region: requestStats.region,
      readAgain: requestStats.readAgain,
      call: requestStats.call,
      organization: key?.organizationId ?? administrator?.organization.id ?? requestStats.organization,
      administrator: administrator?.userId,
      address: addressGroup(address),
      userAgent: userAgent ?? undefined,
      ms: Date.now() - started,
      d1Calls: requestStats.d1Calls,
      limiterCalls: requestStats.limiterCalls,
    });
  };
}

/** The pattern of the matched route, or of the area of an unknown one. Never the path: it may contain anything. */
function routeOf(c: Context<AppEnv>): string {
  const routes = matchedRoutes(c).filter(({ path }) => path !== '/*');
  return (routes.find(({ method }) => method !== 'ALL') ?? routes.at(-1))?.path ?? '/*';
}
