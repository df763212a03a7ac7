import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { DeadlineExceeded, withDeadline } from '../../lib/deadline.ts';
import type { AppEnv } from '../context.ts';

/** How long a caller may take to send a body. */
const BODY_DEADLINE_MS = 20_000;

/** The errors to throw for a body that cannot be read. `why` completes "The body …". */
interface BodyErrors {
  tooLarge: () => Error;
  broken: (why: string) => Error;
}

/**
 * Reads the whole body, at most `maxSize` bytes, before anything uses it; from then on it comes from Hono's cache. A caller who
 * disconnects or sends invalid chunks gets `broken`, and the time that a slow body takes does not count against the request's deadline.
 */
export function readBody(maxSize: number, { tooLarge, broken }: BodyErrors): MiddlewareHandler<AppEnv> {
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
      throw broken(
        err instanceof DeadlineExceeded
          ? `did not come in within ${BODY_DEADLINE_MS / 1_000} s`
          : 'broke off before its end',
      );
    } finally {
      // Also if the body is refused: D1 may then have to confirm a cached key.
      c.set('deadlineAt', c.get('deadlineAt') + Date.now() - begun);
    }
    if (tooMuch) throw tooLarge();
    await next();
  };
}
