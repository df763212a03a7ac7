import {
  BEING_ERASED_MESSAGE,
  type D1Caller,
  D1Failure,
  type D1FailureKind,
  ERASED_MESSAGE,
  runD1,
} from '../db/run-d1.ts';
import { type BoundStatement, batch } from '../db/statement.ts';
import { errorOf, organizationErased, ServiceError } from '../domain/errors.ts';
import type { ServiceContext } from './service-context.ts';

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

/** What a call may have done if D1 did not respond. */
export type CallEffect = keyof typeof DETAILS;

type CallContext = Pick<ServiceContext, 'db' | 'deadlineAt' | 'deadlines' | 'stats' | 'waitsForLock'> &
  Pick<D1Caller, 'maxAttempts'>;

/**
 * The only way in which a service calls D1: until the request's deadline, with retries where D1's error allows them (see
 * `runD1`). `run` must be idempotent. Every service therefore throws `unavailable`, and does not repeat it in its own
 * `@throws`.
 * @throws ServiceError `unavailable` if D1 did not respond or takes no writes, `being_erased` or `organization_erased` if
 *   a trigger refused a change for this reason; D1Failure if D1 rejected a statement, which is a bug
 */
export async function callD1<T>(ctx: CallContext, effect: CallEffect, run: (db: D1Database) => Promise<T>): Promise<T> {
  try {
    return await runD1(ctx, () => run(ctx.db));
  } catch (err) {
    if (err instanceof D1Failure && err.reason === BEING_ERASED_MESSAGE) throw errorOf('being_erased');
    if (err instanceof D1Failure && err.reason === ERASED_MESSAGE) throw organizationErased();
    if (!(err instanceof D1Failure) || err.kind === 'rejected') throw err;
    throw new ServiceError('unavailable', unavailableDetail(effect, err.kind), { database: err.kind, cause: err });
  }
}

/** Runs a statement that reads, and returns its first row, or null. See `callD1`. */
export async function readOne<Row>(
  ctx: CallContext,
  statement: BoundStatement<Row>,
  effect: CallEffect = 'nothing_written',
): Promise<Row | null> {
  // Not D1's `first`, which drops the metadata and reads no less.
  const [row] = await readAll(ctx, statement, effect);
  return row ?? null;
}

/** Runs a statement and returns its rows. See `callD1`. */
export async function readAll<Row>(
  ctx: CallContext,
  statement: BoundStatement<Row>,
  effect: CallEffect = 'nothing_written',
): Promise<Row[]> {
  return (await callD1(ctx, effect, (db) => statement.all(db))).results;
}

/** Runs statements as one transaction, and returns the rows of each. See `callD1`. */
export function readBatch<const Rows extends readonly unknown[]>(
  ctx: CallContext,
  statements: { readonly [Index in keyof Rows]: BoundStatement<Rows[Index]> },
  effect?: CallEffect,
): Promise<{ [Index in keyof Rows]: Rows[Index][] }>;
export async function readBatch(
  ctx: CallContext,
  statements: readonly BoundStatement<unknown>[],
  effect: CallEffect = 'nothing_written',
): Promise<unknown> {
  const results = await callD1(ctx, effect, (db) => batch<unknown[]>(db, statements));
  return results.map((result) => result.results);
}

/** Runs a statement that writes, and returns how many rows it changed. See `callD1`. */
export async function write(ctx: CallContext, effect: CallEffect, statement: BoundStatement<unknown>): Promise<number> {
  return (await callD1(ctx, effect, (db) => statement.all(db))).meta.changes;
}

export function unavailableDetail(effect: CallEffect, kind: Exclude<D1FailureKind, 'rejected'>): string {
  return kind === 'read_only' ? READ_ONLY : DETAILS[effect];
}
