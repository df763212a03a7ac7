import type { HonoRequest, MiddlewareHandler } from 'hono';
import { withoutKeys } from '../../domain/api-key.ts';
import { addressGroup, clientAddress } from '../../domain/client-address.ts';
import { timeOrderedId } from '../../domain/record-id.ts';
import { type AppEnv, IsolateMemory, type Settings } from '../../env.ts';
import type { Source } from '../../services/context.ts';
import { rateLimitFields } from '../rate-limit-fields.ts';

/** How long one request may take in all, but for the time in which its body comes in. */
const REQUEST_DEADLINE_MS = 10_000;
const MAX_USER_AGENT_LENGTH = 100;

/** Gives the request its id, clock, deadline and source, and every answer the headers that all answers have. */
export function requestContext(settings: Settings, now: () => number): MiddlewareHandler<AppEnv> {
  const memory = new IsolateMemory();
  return async function requestContext(c, next) {
    const source = sourceOf(c.req, settings.keyPrefix);
    c.set('settings', settings);
    c.set('memory', memory);
    c.set('now', now);
    c.set('deadlineAt', Date.now() + REQUEST_DEADLINE_MS);
    c.set('requestId', timeOrderedId(now()));
    c.set('source', source);
    c.set('addressGroup', addressGroup(source.address));
    c.set('facts', { d1Calls: 0, limiterCalls: 0 });
    await next();
    // On the answer itself: `c.header` would build the whole answer anew for each of them.
    const { headers } = c.res;
    if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store');
    headers.set('X-Content-Type-Options', 'nosniff');
    headers.set('X-Request-Id', c.get('requestId'));
    // A 401 never tells of a limit, not even when the key was revoked after its limit had been asked.
    const appliedLimit = c.get('appliedLimit');
    if (appliedLimit && c.res.status !== 401) {
      for (const [name, value] of Object.entries(rateLimitFields(appliedLimit))) headers.set(name, value);
    }
  };
}

/** Where the request came from. Some tools let people type a User-Agent, and people paste keys: they go no further, and before the cut, which would leave a part. */
function sourceOf(req: HonoRequest, keyPrefix: string): Source {
  const userAgent = req.header('User-Agent');
  return {
    address: clientAddress(req.header('CF-Connecting-IP')),
    userAgent: userAgent === undefined ? null : withoutKeys(userAgent, keyPrefix).slice(0, MAX_USER_AGENT_LENGTH).toWellFormed(),
  };
}
