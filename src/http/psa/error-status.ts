import type { CallError } from '../../services/answer.ts';

/** The HTTP status of each error of a call. */
export const ERROR_STATUS = {
  invalid: 422,
  unavailable: 503,
  organization_not_found: 404,
  cursor_reset: 409,
  record_not_found: 404,
  already_reviewed: 409,
  reviewer_not_eligible: 422,
  not_exported: 409,
  superseded: 409,
} as const satisfies Record<CallError['code'], number>;
