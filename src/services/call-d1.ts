import { D1Failure, runD1 } from '../db/call.ts';
import { ServiceError } from '../domain/errors.ts';
import type { ServiceContext } from './context.ts';

/** What to tell the caller when D1 did not respond, by what the call may have done. */
const DETAILS = {
  /** The call only reads, or comes before anything is written. */
  nothing_written: 'The database did not answer. Nothing was written; send the same request again.',
  /** The call may have been committed, and repeating it may do something else. */
  may_have_written:
    'The database did not answer. If something was to be changed, it may have been; look before you do it again.',
  /** The call may have been committed, and repeating it does no harm. */
  safe_to_repeat: 'The database did not answer. Make the same call again; repeating it does no harm.',
} as const;

const READ_ONLY = 'The database takes no writes at the moment. Nothing was written; send the same request again later.';

/** What a call that got no response means for the caller. */
export type LostCall = keyof typeof DETAILS;

/**
 * The one way in which a verb calls D1: until the request's deadline, repeated where D1's message allows it (see `runD1`), so `run` must
 * be harmless to repeat.
 * @throws ServiceError `unavailable` if D1 did not do it; D1Failure if D1 rejected a statement, which is a fault of ours
 */
export async function callD1<T>(
  ctx: Pick<ServiceContext, 'db' | 'deadlineAt' | 'stats'>,
  lost: LostCall,
  run: (db: D1Database) => Promise<T>,
): Promise<T> {
  try {
    return await runD1(ctx, () => run(ctx.db));
  } catch (err) {
    if (!(err instanceof D1Failure) || err.kind === 'rejected') throw err;
    const detail = err.kind === 'read_only' ? READ_ONLY : DETAILS[lost];
    throw new ServiceError('unavailable', detail, { database: err.kind, cause: err });
  }
}
