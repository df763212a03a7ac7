import type { UnauthorizedReason } from './api-key.ts';
import type { ExceededDayLimit } from './day-limit.ts';
import type { FieldError } from './fields.ts';
import type { CallErrorFields } from './psa-shapes.ts';

/** The failures whose detail is always the same. */
const DETAILS = {
  /** Write-back is off for the organization (`psa: false`). Found before the write, or in its transaction. */
  psa_not_included:
    'Write-back is not enabled for this organization. Ask the provider of your ticketing system to enable it; retrying does not help.',
  technician_not_eligible:
    'userEmail is not the address of an active technician of your organization; correct it, or omit it to credit the automation service account.',
  // Administrators.
  not_administrator: 'You are not an active administrator of this organization.',
  key_not_live: 'The key has expired or was revoked, which cannot be undone; create a new key instead.',
  key_already_rotated: 'A key has at most one successor; rotate the successor instead.',
  key_changed_meanwhile: 'Another administrator changed the key; nothing was saved.',
  key_rules_changed_meanwhile: 'Another administrator changed the key rules; nothing was saved.',
  not_a_key: 'This is neither a hint such as twb_Ab12…x9Yz nor a whole key; it may be truncated.',
  // The PSA and operators.
  cursor_reset:
    'The position of the cursor is not in this database, for example because it was restored, or the organization was erased and created again. Read the changes from null again.',
  not_pushed: 'This deployment pushes no changes: the operator has not set WEBHOOK_URL.',
  being_erased:
    'The organization is being erased and cannot be read or changed. Afterwards, its directory is accepted only with recreate.',
} as const;

/** Every expected failure of a service. Each interface maps the codes that can reach it. */
export type ServiceErrorCode =
  | keyof typeof DETAILS
  // Writes of the API.
  | 'ticket_not_found'
  | 'daily_limit_reached'
  | 'idempotency_mismatch'
  | 'outcome_unknown'
  // The database did not respond or takes no writes.
  | 'unavailable'
  // Input that breaks a rule; `errors` names the fields.
  | 'invalid'
  // Administrators.
  | 'form_already_used'
  | 'key_not_found'
  // The PSA and operators.
  | 'organization_not_found'
  | 'record_not_found'
  | 'already_reviewed'
  | 'reviewer_not_eligible'
  | 'not_exported'
  | 'organization_erased'
  | 'superseded';

interface Info {
  errors?: readonly FieldError[];
  /** For `form_already_used`: the id of the key that the form created. */
  keyId?: string;
  /** For `outcome_unknown`: whether it is safe to send the request again. */
  retryable?: boolean;
  /** For `unavailable`: whether the statements were not run, were rolled back, or may have been committed. */
  database?: 'not_run' | 'read_only' | 'unknown';
  /** For `daily_limit_reached`: which limit, and the milliseconds until it admits again. */
  dayLimit?: { name: ExceededDayLimit['name']; retryAfterMs: number };
  /** For `ticket_not_found`: whether the ticket exists, and the key is not for its company. The caller never learns it. */
  isOfOtherCompany?: boolean;
  /** For `idempotency_mismatch`: the write that created nothing. */
  lostWrite?: { ticketId: string; idempotencyKey: string | undefined };
  /** The facts about the error that a program needs. */
  fields?: CallErrorFields;
  cause?: unknown;
}

/** Thrown by services for every expected failure. `detail` explains what is wrong and what to do. */
export class ServiceError extends Error {
  override name = 'ServiceError';
  readonly code: ServiceErrorCode;
  readonly detail: string;
  readonly info: Info;
  constructor(code: ServiceErrorCode, detail: string, info: Info = {}) {
    super(`${code}: ${detail}`, 'cause' in info ? { cause: info.cause } : undefined);
    this.code = code;
    this.detail = detail;
    this.info = info;
  }

  /** The errors of the fields; none for a code other than `invalid`. */
  get errors(): readonly FieldError[] {
    return this.info.errors ?? [];
  }
}

export function hasCode(err: unknown, code: ServiceErrorCode): err is ServiceError {
  return err instanceof ServiceError && err.code === code;
}

export function invalidInput(errors: readonly FieldError[]): ServiceError {
  return new ServiceError('invalid', errors.map(({ detail }) => detail).join('; '), { errors });
}

/** The error of a code whose detail is always the same. */
export const errorOf = (code: keyof typeof DETAILS) => new ServiceError(code, DETAILS[code]);

/** Nothing creates an erased organization again unless the caller asks for it. */
export function organizationErased(subject = 'The organization'): ServiceError {
  const detail = `${subject} was erased, so its directory is refused. Stop sending it. To create the organization again, without its earlier records, send its directory with recreate: true (an import: --recreate).`;
  return new ServiceError('organization_erased', detail);
}

export interface KeyReference {
  organizationId: string;
  keyId: string;
}

/** A key may not be used. `reason` and `key` are for its administrators; the caller gets the constant 401. */
export class Unauthorized extends Error {
  override name = 'Unauthorized';
  readonly reason: UnauthorizedReason;
  readonly key: KeyReference | undefined;
  constructor(reason: UnauthorizedReason, key?: KeyReference) {
    super(`unauthorized: ${reason}`);
    this.reason = reason;
    this.key = key;
  }
}
