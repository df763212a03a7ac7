import { DrizzleQueryError } from 'drizzle-orm';
import type { BatchItem } from 'drizzle-orm/batch';
import { drizzle } from 'drizzle-orm/d1';
import { type BoundStatement, type Database, prepare, type Statement } from '../db/query.ts';
import { errorOf, organizationErased, ServiceError } from '../domain/errors.ts';
import { withDeadline } from '../lib/deadline.ts';
import { LoggableError } from '../lib/log.ts';
import type { D1Caller, ServiceContext } from './service-context.ts';

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

const databases = new WeakMap<D1Database, Database>();

/** The database through Drizzle, made once for each isolate. */
export function throughDrizzle(d1: D1Database): Database {
  const known = databases.get(d1);
  if (known) return known;
  const database = drizzle(d1);
  databases.set(d1, database);
  return database;
}

type CallContext = Pick<ServiceContext, 'db'> & D1Caller;

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

/**
 * Runs queries of Drizzle. `run` builds and awaits them again for each attempt. Several queries are one transaction with
 * `db.batch`; then all columns that a query selects have names of their own. See `callD1`.
 */
export const query = <T>(ctx: CallContext, effect: CallEffect, run: (db: Database) => PromiseLike<T>): Promise<T> =>
  callD1(ctx, effect, async (d1) => run(throughDrizzle(d1)));

/** Runs any number of queries of Drizzle as one transaction, and returns the rows of each. See `query`. */
export const queryAll = <Query extends BatchItem<'sqlite'>>(
  ctx: CallContext,
  effect: CallEffect,
  build: (db: Database) => readonly Query[],
) =>
  query(ctx, effect, async (db) => {
    const [first, ...others] = build(db);
    return first ? db.batch([first, ...others]) : [];
  });

/** Runs a statement that was built once, and returns its rows. See `callD1`. */
export const send = <Row>(
  ctx: CallContext,
  effect: CallEffect,
  bind: (db: Database) => BoundStatement<Row>,
): Promise<Row[]> =>
  callD1(ctx, effect, async (d1) => (await prepare(d1, bind(throughDrizzle(d1))).all<Row>()).results);

/** The size of each database in bytes, as its latest batch reported it. */
const sizes = new WeakMap<D1Database, number>();

/** The size of the database in bytes, or undefined before its first batch in this isolate: Drizzle drops it. */
export const latestSize = (d1: D1Database): number | undefined => sizes.get(d1);

/**
 * Sends statements as one transaction. `build` is called again for each attempt. Rows have the names of the statements'
 * columns. See `callD1`.
 */
export const sendBatch = <Row>(
  ctx: CallContext,
  effect: CallEffect,
  build: (db: Database) => readonly Statement<Row>[],
): Promise<D1Result<Row>[]> =>
  callD1(ctx, effect, async (d1) => {
    const results = await d1.batch<Row>(build(throughDrizzle(d1)).map((statement) => prepare(d1, statement)));
    for (const { meta } of results) sizes.set(d1, meta.size_after);
    return results;
  });

/** Runs statements that read as one transaction, and returns the rows of each. See `callD1`. */
export function readBatch<const Rows extends readonly unknown[]>(
  ctx: CallContext,
  build: (db: Database) => { readonly [Index in keyof Rows]: BoundStatement<Rows[Index]> },
): Promise<{ [Index in keyof Rows]: Rows[Index][] }>;
export async function readBatch(
  ctx: CallContext,
  build: (db: Database) => readonly Statement<unknown>[],
): Promise<unknown> {
  const results = await sendBatch(ctx, 'nothing_written', build);
  return results.map((result) => result.results);
}

export function unavailableDetail(effect: CallEffect, kind: Exclude<D1FailureKind, 'rejected'>): string {
  return kind === 'read_only' ? READ_ONLY : DETAILS[effect];
}

/**
 * Why a call to D1 has no result. `rejected`: a statement failed and all were rolled back, because
 * of a bug or bad data. `not_run`: D1 was too busy, or the deadline passed before the call.
 * `read_only`: D1 takes no writes (full or read-only) and rolled back; reads may still work.
 * `unknown`: the response was lost, so the statements may have been committed.
 */
export type D1FailureKind = 'rejected' | 'not_run' | 'read_only' | 'unknown';

/**
 * Thrown by `runD1`. D1's own message may contain SQL or bound values, so only `reason` is kept: a
 * phrase from this file, an SQLite result code, or our own message.
 */
export class D1Failure extends LoggableError {
  override name = 'D1Failure';
  readonly kind: D1FailureKind;
  readonly reason: string;
  constructor(kind: D1FailureKind, reason: string) {
    super(`D1 ${kind}: ${reason}`);
    this.kind = kind;
    this.reason = reason;
  }
}

/** The message of the trigger `directory_clock_forward`. */
export const OLDER_MESSAGE = 'directory_clock: an older message';
/** The message of the triggers that refuse audit rows and changes of the directory until the end of an erasure. */
const BEING_ERASED_MESSAGE = 'erasures: the organization is being erased';
/** The message of the trigger that refuses the directory of an organization that was erased. */
const ERASED_MESSAGE = 'erasures: the organization was erased';

/** The reason of a failure if another program holds the local database. */
export const LOCKED = 'the database is locked';

/** Phrases in D1's messages (developers.cloudflare.com/d1/observability/debug-d1). The first match decides. */
const PHRASES: readonly { phrase: RegExp; kind: D1FailureKind; retry?: 'always' | 'locked' }[] = [
  { phrase: /overloaded|queued for too long/i, kind: 'not_run' },
  { phrase: /network connection lost|object to be reset|code was updated/i, kind: 'unknown', retry: 'always' },
  { phrase: /exceeded maximum (?:DB size|account storage limit)|SQLITE_FULL|SQLITE_READONLY/i, kind: 'read_only' },
  { phrase: /exceeded its (?:memory|CPU time) limit/i, kind: 'unknown' },
  { phrase: new RegExp([OLDER_MESSAGE, BEING_ERASED_MESSAGE, ERASED_MESSAGE].join('|')), kind: 'rejected' },
  // Another writer holds the lock, or the machine itself failed.
  { phrase: /SQLITE_(?:BUSY|LOCKED)|database is locked/, kind: 'not_run', retry: 'locked' },
  // Locally also a lock: it fails the bookmark that follows each call, even one that only reads.
  { phrase: /internal error; reference/, kind: 'unknown', retry: 'locked' },
  { phrase: /SQLITE_(?:IOERR|NOMEM|CANTOPEN|INTERRUPT|PROTOCOL)/, kind: 'unknown' },
  { phrase: /no such (?:table|column)|(?:UNIQUE|NOT NULL|CHECK|FOREIGN KEY) constraint failed/, kind: 'rejected' },
  { phrase: /SQLITE_[A-Z]+/, kind: 'rejected' },
];

/** Classifies an error of D1. `retry`: whether another attempt may succeed, always or for callers that wait for a lock. */
function classify(err: unknown): Pick<(typeof PHRASES)[number], 'kind' | 'retry'> & { reason: string } {
  // Its message contains the values, which must be neither logged nor searched for phrases.
  if (err instanceof DrizzleQueryError) return classify(err.cause);
  if (err instanceof LoggableError) return { kind: 'unknown', reason: err.message };
  const message = messages(err);
  for (const { phrase, kind, retry } of PHRASES) {
    const found = phrase.exec(message);
    if (found) return { kind, reason: found[0], ...(retry && { retry }) };
  }
  const name = err instanceof Error ? err.name : typeof err;
  return { kind: 'unknown', reason: `${name} with an unknown message` };
}

const MAX_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 50;

/**
 * Runs an idempotent call against D1, until the deadline. D1 itself retries reads but never writes,
 * so this retries after a lost connection or an object that was reset or redeployed, and for a
 * caller that `waitsForLock` after a lock. It never retries an overloaded database.
 * @throws D1Failure
 */
export async function runD1<T>(
  { deadlineAt, deadlines, stats, waitsForLock, maxAttempts = MAX_ATTEMPTS }: D1Caller,
  run: () => Promise<T>,
): Promise<T> {
  let mayHaveRun = false;
  for (let attempt = 1; ; attempt++) {
    const left = deadlineAt - Date.now();
    if (left <= 0) throw new D1Failure(mayHaveRun ? 'unknown' : 'not_run', 'the deadline passed before the call');
    if (stats) stats.d1Calls += 1;
    try {
      return await withDeadline(run(), left, deadlines);
    } catch (err) {
      const { kind, reason, retry } = classify(err);
      const isLocked = retry === 'locked' && waitsForLock;
      const mayRetry = retry === 'always' || isLocked;
      mayHaveRun ||= kind === 'unknown';
      const pause = FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random());
      if (!mayRetry || attempt === maxAttempts || Date.now() + pause >= deadlineAt)
        throw new D1Failure(mayHaveRun ? 'unknown' : kind, isLocked ? LOCKED : reason);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** The messages of an error and of all its causes: D1 wraps the relevant one. */
function messages(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  return err.cause === undefined ? err.message : `${err.message} ${messages(err.cause)}`;
}
