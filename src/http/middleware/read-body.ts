import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { DeadlineExceeded, withDeadline } from '../../lib/deadline.ts';
import type { AppEnv } from '../hono-env.ts';

const BODY_DEADLINE_MS = 20_000;

/** The errors for a body that cannot be read. `why` completes "The body …". */
interface BodyErrors {
  tooLarge: () => Error;
  broken: (why: string) => Error;
}

/**
 * Reads the whole body, at most `maxSize` bytes, before anything uses it; later reads come from Hono's cache. A caller
 * that disconnects or sends invalid chunks gets `broken`. The time for receiving the body does not count against the
 * request's deadline.
 */
export async function readBody(c: Context<AppEnv>, maxSize: number, { tooLarge, broken }: BodyErrors): Promise<void> {
  const limit = bodyLimit({ maxSize, onError: () => new Response(null, { status: 413 }) });
  const startedAt = Date.now();
  let isTooLarge = false;
  const read = limit(c, async () => {
    await c.req.arrayBuffer();
  });
  try {
    if (await withDeadline(read, BODY_DEADLINE_MS, c.get('deadlines'))) isTooLarge = true;
  } catch (err) {
    throw broken(
      err instanceof DeadlineExceeded ? `did not arrive within ${BODY_DEADLINE_MS / 1_000} s` : 'was cut off',
    );
  } finally {
    // Also if the body is refused: D1 may then have to check a cached key again.
    c.set('deadlineAt', c.get('deadlineAt') + Date.now() - startedAt);
  }
  if (isTooLarge) throw tooLarge();
}
