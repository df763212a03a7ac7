import type { Context, HonoRequest, MiddlewareHandler, Next } from 'hono';
import { matchedRoutes } from 'hono/route';
import type { Config } from '../../config.ts';
import { addressGroup, clientAddress } from '../../domain/client-address.ts';
import { Unauthorized } from '../../domain/errors.ts';
import { withoutKeys } from '../../domain/pasted-keys.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { Deadlines } from '../../lib/deadline.ts';
import { log } from '../../lib/log.ts';
import type { Contribution } from '../../module.ts';
import type { Source } from '../../services/service-context.ts';
import { type AppEnv, IsolateCaches } from '../hono-env.ts';
import { rateLimitFields } from './limits.ts';

/** The deadline of one request, not counting the time in which its body is received. */
const REQUEST_DEADLINE_MS = 10_000;
const MAX_USER_AGENT_LENGTH = 100;
/** A year. No includeSubDomains: other hosts of the zone are not ours to decide. */
const STRICT_TRANSPORT_SECURITY = 'max-age=31536000';
/** Only this much of a User-Agent is searched for keys; text after it cannot become part of the stored value. */
const MAX_SEARCHED_LENGTH = 1_000;

/** The clock of the API (UTC milliseconds), and how it waits. Tests replace both. */
export interface Clock {
  now: () => number;
  sleep: (ms: number) => Promise<void>;
}

export const SYSTEM_CLOCK: Clock = { now: () => Date.now(), sleep: (ms) => scheduler.wait(ms) };

/** Sets the id, clock, deadline and source of the request, and the headers of every response. */
export function requestContext(
  config: Config,
  contributions: readonly Contribution[],
  { now, sleep }: Clock,
): MiddlewareHandler<AppEnv> {
  const caches = new IsolateCaches(sleep);
  return async function requestContext(c, next) {
    c.set('config', config);
    c.set('caches', caches);
    c.set('now', now);
    c.set('deadlineAt', Date.now() + REQUEST_DEADLINE_MS);
    c.set('deadlines', new Deadlines());
    c.set('requestId', timeOrderedId(now()));
    c.set('source', sourceOf(c.req, config.keyPrefix));
    c.set('contributions', contributions);
    c.set('requestStats', { d1Calls: 0, limiterCalls: 0 });
    await next();
    // On the response itself: each `c.header` would copy the whole response.
    const { headers, status } = c.res;
    // Not on a 401, which is the same for every key.
    const expiresAt = c.get('principal')?.expiresAt ?? null;
    if (expiresAt !== null && status !== 401) headers.set('Api-Key-Expires-At', new Date(expiresAt).toISOString());
    if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store');
    headers.set('X-Content-Type-Options', 'nosniff');
    headers.set('Strict-Transport-Security', STRICT_TRANSPORT_SECURITY);
    headers.set('X-Request-Id', c.get('requestId'));
    // A 401 never has RateLimit headers, even if the key was revoked after its limit was counted. Nor does a 503: its
    // Retry-After may be earlier than the end of the window (draft -11 §6).
    if (status !== 401 && status !== 503) {
      const fields = rateLimitFields(c.get('appliedLimit'), c.get('keyDay'));
      for (const [name, value] of Object.entries(fields)) headers.set(name, value);
    }
  };
}

/** Users paste keys into the User-Agent. They are removed before it is cut, which could leave a part of one. */
function sourceOf(req: HonoRequest, keyPrefix: string): Source {
  const userAgent = req.header('User-Agent');
  return {
    address: clientAddress(req.header('CF-Connecting-IP')),
    userAgent:
      userAgent === undefined
        ? null
        : withoutKeys(userAgent.slice(0, MAX_SEARCHED_LENGTH), keyPrefix)
            .slice(0, MAX_USER_AGENT_LENGTH)
            .toWellFormed(),
  };
}

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
