import type { Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { DeadlineExceeded, type Deadlines, withDeadline } from '../../lib/deadline.ts';
import type { AppEnv } from '../hono-env.ts';

const BODY_DEADLINE_MS = 20_000;

/** The errors for a body that cannot be read. `why` completes "The body …". */
export interface BodyErrors {
  tooLarge: () => Error;
  broken: (why: string) => Error;
}

/** As `receiveBody`. The time for receiving the body does not count against the request's deadline. */
export async function readBody(c: Context<AppEnv>, maxSize: number, errors: BodyErrors): Promise<void> {
  const startedAt = Date.now();
  try {
    await receiveBody(c, maxSize, errors, c.get('deadlines'));
  } finally {
    // Also if the body is refused: D1 may then have to check a cached key again.
    c.set('deadlineAt', c.get('deadlineAt') + Date.now() - startedAt);
  }
}

/**
 * Reads the whole body, at most `maxSize` bytes, before anything uses it; later reads come from Hono's cache. A caller
 * that disconnects or sends invalid chunks gets `broken`.
 */
export async function receiveBody(
  c: Context,
  maxSize: number,
  { tooLarge, broken }: BodyErrors,
  deadlines?: Deadlines,
): Promise<void> {
  const limit = bodyLimit({ maxSize, onError: () => new Response(null, { status: 413 }) });
  let isTooLarge = false;
  const read = limit(c, async () => {
    await c.req.arrayBuffer();
  });
  try {
    if (await withDeadline(read, BODY_DEADLINE_MS, deadlines)) isTooLarge = true;
  } catch (err) {
    throw broken(
      err instanceof DeadlineExceeded ? `did not arrive within ${BODY_DEADLINE_MS / 1_000} s` : 'was cut off',
    );
  }
  if (isTooLarge) throw tooLarge();
}
