import type { Context, Next } from 'hono';
import { matchedRoutes } from 'hono/route';
import { addressGroup } from '../../domain/client-address.ts';
import { Unauthorized } from '../../domain/errors.ts';
import { log } from '../../lib/log.ts';
import type { AppEnv } from '../hono-env.ts';

/** Writes one line per request. Of the caller's input it has only the method and the User-Agent. */
export async function requestLog(c: Context<AppEnv>, next: Next): Promise<void> {
  const started = Date.now();
  await next();
  const { problem, messageFault, organization, ...stats } = c.get('requestStats');
  const { address, userAgent } = c.get('source');
  const { status } = c.res;
  const refused = c.error instanceof Unauthorized ? c.error : undefined;
  const key = c.get('principal') ?? refused?.key;
  const administrator = c.get('administrator');
  const isPaused = c.get('config').mode === 'paused' && problem === 'unavailable';
  log(status >= 500 && !isPaused ? 'error' : 'log', 'request', {
    requestId: c.get('requestId'),
    method: c.req.method,
    route: routeOf(c),
    status,
    // A 401 has no code, even if there was another problem before the key was read.
    problem: refused ? undefined : problem,
    reason: refused?.reason ?? messageFault,
    key: key?.keyId,
    organization: key?.organizationId ?? administrator?.organization.id ?? organization,
    administrator: administrator?.userId,
    address: addressGroup(address),
    userAgent: userAgent ?? undefined,
    ms: Date.now() - started,
    ...stats,
  });
}

/** The pattern of the matched route, or of the area of an unknown one. Never the path: it may contain anything. */
function routeOf(c: Context<AppEnv>): string {
  const routes = matchedRoutes(c).filter(({ path }) => path !== '/*');
  return (routes.find(({ method }) => method !== 'ALL') ?? routes.at(-1))?.path ?? '/*';
}
