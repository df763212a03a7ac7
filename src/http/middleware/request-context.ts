import type { HonoRequest, MiddlewareHandler } from 'hono';
import type { Config } from '../../config.ts';
import { withoutKeys } from '../../domain/api-key.ts';
import { addressGroup, clientAddress } from '../../domain/client-address.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import type { Source } from '../../services/context.ts';
import { type AppEnv, IsolateCaches } from '../context.ts';
import { rateLimitFields } from '../rate-limit.ts';

/** How long one request may take in all, except for the time in which its body is received. */
const REQUEST_DEADLINE_MS = 10_000;
const MAX_USER_AGENT_LENGTH = 100;
/** How much of a User-Agent is searched for keys: what comes later never moves into the part that is kept. */
const MAX_SEARCHED_LENGTH = 1_000;

/** Sets the request's id, clock, deadline and source, and the headers that every response has. */
export function requestContext(config: Config, now: () => number): MiddlewareHandler<AppEnv> {
  const caches = new IsolateCaches();
  return async function requestContext(c, next) {
    const source = sourceOf(c.req, config.keyPrefix);
    c.set('config', config);
    c.set('caches', caches);
    c.set('now', now);
    c.set('deadlineAt', Date.now() + REQUEST_DEADLINE_MS);
    c.set('requestId', timeOrderedId(now()));
    c.set('source', source);
    c.set('addressGroup', addressGroup(source.address));
    c.set('requestStats', { d1Calls: 0, limiterCalls: 0 });
    await next();
    // On the response itself: `c.header` would copy the whole response for each of them.
    const { headers } = c.res;
    if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store');
    headers.set('X-Content-Type-Options', 'nosniff');
    headers.set('X-Request-Id', c.get('requestId'));
    // A 401 never has rate-limit fields, not even if the key was revoked after its limit was counted.
    const appliedLimit = c.get('appliedLimit');
    if (appliedLimit && c.res.status !== 401) {
      for (const [name, value] of Object.entries(rateLimitFields(appliedLimit))) headers.set(name, value);
    }
  };
}

/** Where the request came from. People paste keys into a User-Agent: they are removed before the text is cut, which could leave a part of one. */
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
