import type { Context, MiddlewareHandler } from 'hono';
import { matchedRoutes } from 'hono/route';
import { Unauthorized } from '../../domain/errors.ts';
import type { ObservedEnv } from '../../env.ts';
import { log } from '../../lib/log.ts';

/** Writes one line for each request once its answer is made. Of what the caller sent only the method and the User-Agent are in it. */
export function requestLog(): MiddlewareHandler<ObservedEnv> {
  return async function requestLog(c, next) {
    const started = Date.now();
    await next();
    const { requestId, addressGroup, source, settings, facts, principal, administrator } = c.var;
    const { status } = c.res;
    const refused = c.error instanceof Unauthorized ? c.error : undefined;
    const key = principal ?? refused?.key;
    const meant = settings.mode === 'paused' && facts.problem === 'unavailable';
    log(status >= 500 && !meant ? 'error' : 'log', 'request', {
      requestId,
      method: c.req.method,
      route: routeOf(c),
      status,
      // A 401 has no code, whatever stood in its place before the key was read.
      problem: refused ? undefined : facts.problem,
      reason: refused?.reason,
      key: key?.keyId,
      lookup: facts.lookup,
      organization: key?.organizationId ?? administrator?.organization.id,
      administrator: administrator?.userId,
      address: addressGroup,
      userAgent: source.userAgent ?? undefined,
      ms: Date.now() - started,
      d1Calls: facts.d1Calls,
      limiterCalls: facts.limiterCalls,
    });
  };
}

/** The pattern of the address that was asked for, or the widest that covers it: never the path, for anything may be typed into it. */
function routeOf(c: Context<ObservedEnv>): string | undefined {
  const routes = matchedRoutes(c);
  return (routes.find(({ method }) => method !== 'ALL') ?? routes.at(-1))?.path;
}
