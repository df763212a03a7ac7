import { ServiceError, type ServiceErrorCode } from '../domain/errors.ts';
import type { FieldError } from '../domain/fields.ts';
import type { CallErrorFields } from '../domain/psa-shapes.ts';
import { keysOf } from '../lib/objects.ts';

/** The expected failures that the PSA can get, with their statuses over HTTP. Any other code here is a bug. */
export const CALL_ERRORS = {
  invalid: 422,
  unavailable: 503,
  organization_not_found: 404,
  cursor_reset: 409,
  record_not_found: 404,
  already_reviewed: 409,
  approved_in_settings: 409,
  not_pushed: 409,
  being_erased: 409,
  organization_erased: 409,
  superseded: 409,
} as const satisfies Partial<Record<ServiceErrorCode, number>>;
export const CALL_ERROR_CODES = keysOf(CALL_ERRORS);

/** For `invalid`, `errors` names the arguments by JSON Pointer, such as `/records/3/type`. */
export interface CallError extends CallErrorFields {
  code: keyof typeof CALL_ERRORS;
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
    const code = err instanceof ServiceError ? CALL_ERROR_CODES.find((known) => known === err.code) : undefined;
    if (!(err instanceof ServiceError) || code === undefined) throw err;
    return { ok: false, error: { code, detail: err.detail, errors: [...err.errors], ...err.info.fields } };
  }
}
