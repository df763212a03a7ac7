import { parseDatabaseLimit } from '../domain/database-limit.ts';
import { ServiceError } from '../domain/errors.ts';
import type { FieldError } from '../domain/fields.ts';
import { timeOrderedId } from '../domain/record-id.ts';
import type { ActorContext, SystemActor } from '../services/context.ts';

/** The deadline of one call. */
const CALL_DEADLINE_MS = 30_000;

/** The expected failures that the PSA can get. Any other code here is a bug. */
const CALL_ERRORS = [
  'invalid',
  'unavailable',
  'organization_not_found',
  'cursor_reset',
  'record_not_found',
  'already_reviewed',
  'reviewer_not_eligible',
  'not_exported',
] as const;

/**
 * Why a call did nothing. For `invalid`, `errors` names the arguments by JSON Pointer, such as
 * `/records/3/type`.
 */
export type CallError = { code: (typeof CALL_ERRORS)[number]; detail: string; errors: FieldError[] };

/** Expected errors are results: a thrown error loses its fields on the way to another Worker. */
export type Answer<T> = { ok: true; value: T } | { ok: false; error: CallError };

/** Runs a verb for the PSA. Throws only unexpected errors, which the runtime logs. */
export async function answer<T>(env: Env, run: (ctx: ActorContext<SystemActor>) => Promise<T>): Promise<Answer<T>> {
  const now = Date.now();
  const ctx = {
    db: env.DB,
    now: Date.now,
    deadlineAt: now + CALL_DEADLINE_MS,
    requestId: timeOrderedId(now),
    databaseLimit: parseDatabaseLimit(env.DATABASE_LIMIT),
    actor: 'psa' as const,
    source: { address: null, userAgent: 'psa' },
  };
  try {
    return { ok: true, value: await run(ctx) };
  } catch (err) {
    const code = err instanceof ServiceError ? CALL_ERRORS.find((known) => known === err.code) : undefined;
    if (!(err instanceof ServiceError) || code === undefined) throw err;
    return { ok: false, error: { code, detail: err.detail, errors: [...err.errors] } };
  }
}
