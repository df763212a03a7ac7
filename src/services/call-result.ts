import { ServiceError, type ServiceErrorCode } from '../domain/errors.ts';
import type { FieldError } from '../domain/fields.ts';
import type { CallErrorFields } from '../domain/psa-shapes.ts';

/** The expected failures that the PSA can get. Any other code here is a bug. */
export const CALL_ERRORS = [
  'invalid',
  'unavailable',
  'organization_not_found',
  'cursor_reset',
  'record_not_found',
  'already_reviewed',
  'reviewer_not_eligible',
  'not_exported',
  'not_pushed',
  'being_erased',
  'organization_erased',
  'superseded',
] as const satisfies readonly ServiceErrorCode[];

/** For `invalid`, `errors` names the arguments by JSON Pointer, such as `/records/3/type`. */
export interface CallError extends CallErrorFields {
  code: (typeof CALL_ERRORS)[number];
  detail: string;
  errors: FieldError[];
}

/** The result of a call of the PSA. Expected errors are results, over a binding as over HTTP. */
export type CallResult<T> = { ok: true; value: T } | { ok: false; error: CallError };

/** Runs a service for the PSA. Throws only unexpected errors. */
export async function toCallResult<T>(run: () => Promise<T>): Promise<CallResult<T>> {
  try {
    return { ok: true, value: await run() };
  } catch (err) {
    const code = err instanceof ServiceError ? CALL_ERRORS.find((known) => known === err.code) : undefined;
    if (!(err instanceof ServiceError) || code === undefined) throw err;
    return { ok: false, error: { code, detail: err.detail, errors: [...err.errors], ...err.info.fields } };
  }
}
