import { Declined, type DeclinedCode } from '../domain/declined.ts';
import type { FieldError } from '../domain/fields.ts';
import { timeOrderedId } from '../domain/record-id.ts';
import { Invalid, Refusal } from '../domain/errors.ts';
import type { SystemContext } from '../services/context.ts';

/** How long one call may take. */
const CALL_DEADLINE_MS = 30_000;

/** Why a call did nothing. `errors` names the arguments of an `invalid` one by JSON Pointer, such as `/records/3/type`. */
export type CallError = { code: DeclinedCode | 'invalid' | 'unavailable'; detail: string; errors: FieldError[] };

/** The answer to a call. Errors are answers too: what is thrown would lose its fields on the way to another Worker. */
export type Answer<T> = { ok: true; value: T } | { ok: false; error: CallError };

/** Runs a verb for the PSA. Only what nobody expected is thrown, and so logged by the runtime. */
export async function answer<T>(env: Env, run: (ctx: SystemContext) => Promise<T>): Promise<Answer<T>> {
  const now = Date.now();
  try {
    const ctx = { db: env.DB, now: Date.now, deadlineAt: now + CALL_DEADLINE_MS, requestId: timeOrderedId(now), system: 'psa' as const };
    return { ok: true, value: await run(ctx) };
  } catch (err) {
    if (err instanceof Invalid) return failed('invalid', err.message, [...err.errors]);
    if (err instanceof Declined) return failed(err.code, err.message);
    if (err instanceof Refusal && err.code === 'unavailable') return failed(err.code, err.detail);
    throw err;
  }
}

function failed(code: CallError['code'], detail: string, errors: FieldError[] = []): Answer<never> {
  return { ok: false, error: { code, detail, errors } };
}
