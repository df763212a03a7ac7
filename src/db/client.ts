import { fillPlaceholders, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/sqlite-proxy';
import { DeadlineExceeded, withDeadline } from '../domain/deadline.ts';

/** What can be bound to a statement. */
export type Bindable = string | number | null;

/** A statement rendered once, to be bound and run many times. */
export interface Statement<Values> {
  readonly sql: string;
  bind(d1: D1Database, values: Values): D1PreparedStatement;
}

/** drizzle's query builder without a database: it only renders SQL, at module level, so that no request pays for it. */
export const builder = drizzle(() => Promise.reject(new Error('this builder only renders; bind its statements to a D1Database')));

/** A bound value as a selected expression. */
export const value = <T>(name: string) => sql<T>`${sql.placeholder(name)}`;

/** Renders a query whose `sql.placeholder(name)`s are the keys of `Values`. */
export function statement<Values extends Record<keyof Values, Bindable>>(query: {
  toSQL(): { sql: string; params: unknown[] };
}): Statement<Values> {
  const { sql: text, params } = query.toSQL();
  return { sql: text, bind: (d1, values) => d1.prepare(text).bind(...fillPlaceholders(params, { ...values })) };
}

/**
 * Why a call to D1 gave no result. `rejected`: a statement failed and all of them were rolled back, a fault of ours or of the data.
 * `not_run`: D1 was too busy to begin, or the time was up before. `unknown`: the answer was lost, so the statements may have been committed.
 */
export type D1FailureKind = 'rejected' | 'not_run' | 'unknown';

/** Thrown by `callD1`. Its cause may hold SQL or bound values: for the log's reader at most, never for a caller. */
export class D1Failure extends Error {
  override name = 'D1Failure';
  readonly kind: D1FailureKind;
  constructor(kind: D1FailureKind, cause: unknown) {
    super(`D1 ${kind}`, { cause });
    this.kind = kind;
  }
}

const MAX_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 50;

/**
 * Runs work that may be repeated without harm against D1, until `deadlineAt` (UTC milliseconds). D1 itself repeats reads but never
 * writes, so a lost connection or an object that was reset or redeployed is tried again here; an overloaded database never is.
 * @throws D1Failure
 */
export async function callD1<T>(run: () => Promise<T>, deadlineAt: number): Promise<T> {
  let mayHaveRun = false;
  for (let attempt = 1; ; attempt++) {
    const left = deadlineAt - Date.now();
    if (left <= 0) throw new D1Failure(mayHaveRun ? 'unknown' : 'not_run', new DeadlineExceeded('no time was left to begin'));
    try {
      return await withDeadline(run(), left);
    } catch (err) {
      const message = messages(err);
      const transient = /network connection lost|object to be reset|code was updated/i.test(message);
      const kind = /overloaded|queued for too long/i.test(message)
        ? 'not_run'
        : /SQLITE_/.test(message) && !transient
          ? 'rejected'
          : 'unknown';
      mayHaveRun ||= kind === 'unknown';
      const pause = FIRST_PAUSE_MS * 2 ** (attempt - 1) * (0.5 + Math.random());
      if (!transient || attempt === MAX_ATTEMPTS || Date.now() + pause >= deadlineAt)
        throw new D1Failure(mayHaveRun ? 'unknown' : kind, err);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** The messages of an error and of all its causes: D1 wraps the one that matters. */
function messages(err: unknown): string {
  if (!(err instanceof Error)) return String(err);
  return err.cause === undefined ? err.message : `${err.message} ${messages(err.cause)}`;
}
