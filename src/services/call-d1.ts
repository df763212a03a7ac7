import { D1Failure, type D1FailureKind, runD1 } from '../db/call.ts';
import { BEING_ERASED_MESSAGE } from '../db/directory/conditions.ts';
import { beingErased, ServiceError } from '../domain/errors.ts';
import type { ServiceContext } from './context.ts';
import { warnOfSize } from './size-warning.ts';

/** The detail for the caller if D1 did not respond, by what the call may have done. */
const DETAILS = {
  /** The call only reads, or comes before anything is written. */
  nothing_written: 'The database did not respond. Nothing was written; send the same request again.',
  /** The call may have been committed, and repeating it may have a second effect. */
  may_have_written: 'The database did not respond. The change may have been made; check before you try again.',
  /** The call may have been committed, and it is safe to repeat. */
  safe_to_repeat: 'The database did not respond. Make the same call again; it is safe to repeat.',
} as const;

const READ_ONLY =
  'The database does not accept writes at the moment. Nothing was written; send the same request again later.';

/** What a call without a response means for the caller. */
export type LostCall = keyof typeof DETAILS;

/**
 * The only way in which a verb calls D1: until the request's deadline, with retries where D1's
 * error allows them (see `runD1`). `run` must be idempotent. Warns of a database that is becoming
 * full, if the context has its limit.
 * @throws ServiceError `unavailable` if D1 did not respond or takes no writes, `being_erased` if a
 *   trigger refused a change for this reason; D1Failure if D1 rejected a statement, which is a bug
 */
export async function callD1<T>(
  ctx: Pick<ServiceContext, 'db' | 'deadlineAt' | 'stats' | 'databaseLimit'> &
    Partial<Pick<ServiceContext, 'requestId'>>,
  lost: LostCall,
  run: (db: D1Database) => Promise<T>,
): Promise<T> {
  try {
    const result = await runD1(ctx, () => run(ctx.db));
    warnOfSize(ctx);
    return result;
  } catch (err) {
    if (err instanceof D1Failure && err.reason === BEING_ERASED_MESSAGE) throw beingErased();
    if (!(err instanceof D1Failure) || err.kind === 'rejected') throw err;
    throw new ServiceError('unavailable', unavailableDetail(lost, err.kind), { database: err.kind, cause: err });
  }
}

/** The detail of an `unavailable`. */
export function unavailableDetail(lost: LostCall, kind: Exclude<D1FailureKind, 'rejected'>): string {
  return kind === 'read_only' ? READ_ONLY : DETAILS[lost];
}
