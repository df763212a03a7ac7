import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { DeadlineExceeded, withDeadline } from '../../lib/deadline.ts';
import type { AppEnv } from '../../env.ts';

/** How long a caller may take to send a body. */
const BODY_DEADLINE_MS = 20_000;

/** The errors to throw for a body that cannot be had. `why` completes "The body …". */
interface Refusals {
  tooLarge: () => Error;
  broken: (why: string) => Error;
}

/**
 * Reads the whole body, at most `maxSize` bytes, before anything is done with it; from then on it comes out of Hono's cache. A caller who
 * goes away, or whose chunks make no sense, is no fault of ours; one who is slow has taken nothing of the time that the rest may take.
 */
export function readBody(maxSize: number, { tooLarge, broken }: Refusals): MiddlewareHandler<AppEnv> {
  const limit = bodyLimit({ maxSize, onError: () => new Response(null, { status: 413 }) });
  return async function readBody(c, next) {
    const begun = Date.now();
    let tooMuch = false;
    const read = limit(c, async () => {
      await c.req.arrayBuffer();
    });
    try {
      if (await withDeadline(read, BODY_DEADLINE_MS)) tooMuch = true;
    } catch (err) {
      throw broken(err instanceof DeadlineExceeded ? `did not come in within ${BODY_DEADLINE_MS / 1_000} s` : 'broke off before its end');
    } finally {
      // A refusal too may have to ask D1, whether a remembered key still lives.
      c.set('deadlineAt', c.get('deadlineAt') + Date.now() - begun);
    }
    if (tooMuch) throw tooLarge();
    await next();
  };
}
