import type { MiddlewareHandler } from 'hono';
import { timeOrderedId } from '../../domain/record-id.ts';
import { type AppEnv, IsolateMemory, type Settings } from '../../env.ts';
import { rateLimitFields } from '../rate-limit-fields.ts';

/** How long one request may take in all, but for the time in which its body comes in. */
const REQUEST_DEADLINE_MS = 10_000;

/** Gives the request its id, clock and deadline, and every answer the headers that all answers have. */
export function requestContext(settings: Settings, now: () => number): MiddlewareHandler<AppEnv> {
  const memory = new IsolateMemory();
  return async function requestContext(c, next) {
    c.set('settings', settings);
    c.set('memory', memory);
    c.set('now', now);
    c.set('deadlineAt', Date.now() + REQUEST_DEADLINE_MS);
    c.set('requestId', timeOrderedId(now()));
    await next();
    // On the answer itself: `c.header` would build the whole answer anew for each of them.
    const { headers } = c.res;
    if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store');
    headers.set('X-Content-Type-Options', 'nosniff');
    headers.set('X-Request-Id', c.var.requestId);
    // A 401 never tells of a limit, not even when the key was revoked after its limit had been asked.
    if (c.var.appliedLimit && c.res.status !== 401) {
      for (const [name, value] of Object.entries(rateLimitFields(c.var.appliedLimit))) headers.set(name, value);
    }
  };
}
