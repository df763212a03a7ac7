import type { CallError } from '../../services/call-result.ts';

/** The status of each error of a call over HTTP; docs/psa-calls.md explains them. */
export const PSA_ERRORS = {
  invalid: 422,
  organization_not_found: 404,
  record_not_found: 404,
  cursor_reset: 409,
  already_reviewed: 409,
  superseded: 409,
  reviewer_not_eligible: 422,
  unavailable: 503,
  not_pushed: 409,
  being_erased: 409,
  organization_erased: 409,
  // No call over HTTP erases an organization.
  not_exported: 409,
} as const satisfies Record<CallError['code'], number>;
