import type { UnauthorizedReason } from './api-key.ts';
import type { ExceededDayLimit } from './day-limit.ts';
import { echo, type FieldError } from './fields.ts';
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
    'The position of the cursor is not in this database, for example because it was restored, changes after it were deleted, or the organization was erased and created again. Read the changes from null again.',
  not_pushed: 'This deployment pushes no changes: the operator has not set WEBHOOK_URL.',
  approved_in_psa:
    'The directory says that the PSA approves new time. Remove its adapter, if it has one, and send or import the organization with approvals: settings first.',
  adapter_reports:
    'An adapter of this organization has reported in the last 5 minutes, so its PSA may still decide. Remove its Worker, and run adapter:forget. If it stays, because its PSA no longer approves time, add --adapter-stays.',
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
  | 'approved_in_settings'
  | 'not_exported'
  | 'organization_erased'
  | 'superseded';

interface LostWrite {
  ticketId: string;
  idempotencyKey: string | undefined;
}

interface Info {
  errors?: readonly FieldError[];
  /** For `form_already_used`: the id of the key that the form created. */
  keyId?: string;
  /** For `outcome_unknown`: whether it is safe to send the request again. */
  retryable?: boolean;
  /** For `unavailable`: whether the statements were not run, were rolled back, or may have been committed. */
  database?: 'not_run' | 'read_only' | 'unknown';
  /** For `daily_limit_reached`: which limit, and the milliseconds until it admits again. */
  dayLimit?: { exceeded: ExceededDayLimit; retryAfterMs: number };
  /** For `ticket_not_found`: when to try again, if an adapter may be about to send the ticket. */
  retryAfterMs?: number | undefined;
  /** For `ticket_not_found`: whether the ticket exists, and the key is not for its company. The caller never learns it. */
  isOfOtherCompany?: boolean;
  /** For `technician_not_eligible`: the address that the request named. */
  userEmail?: string | undefined;
  /** For `idempotency_mismatch`: the write that created nothing. */
  lostWrite?: LostWrite;
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
export const errorOf = (code: keyof typeof DETAILS, info: Pick<Info, 'userEmail' | 'keyId'> = {}) =>
  new ServiceError(code, DETAILS[code], info);

/** Nothing creates an erased organization again unless the caller asks for it. */
export function organizationErased(subject = 'The organization'): ServiceError {
  const detail = `${subject} was erased, so its directory is refused. Stop sending it. To create the organization again, without its earlier records, send its directory with recreate: true (an import: --recreate).`;
  return new ServiceError('organization_erased', detail);
}

const MEASURES: Record<ExceededDayLimit['what'], (amount: number) => string> = {
  records: (amount) => `${amount} new ${amount === 1 ? 'record' : 'records'}`,
  minutes: (amount) => `${amount} minutes`,
  bytes: (amount) => `${amount / 1_000_000} MB of text`,
};

export function dailyLimitReached(exceeded: ExceededDayLimit, timeZone: string, retryAfterMs: number): ServiceError {
  const { name, what, limit, used, added } = exceeded;
  const whose = name === 'key-day' ? 'This key' : 'Your organization';
  const isTooLarge = added > limit;
  const rest = used < limit ? ', and this record would exceed it' : '';
  const why = isTooLarge ? `, and this record alone has ${MEASURES[what](added)}` : rest;
  const remedy = isTooLarge
    ? 'Write less, or ask an administrator for a higher limit.'
    : `Send the same request with the same Idempotency-Key after midnight (${timeZone}), or ask an administrator.`;
  const detail = `${whose} may write ${MEASURES[what](limit)} a day${why}; nothing was written. ${remedy}`;
  return new ServiceError('daily_limit_reached', detail, { dayLimit: { exceeded, retryAfterMs } });
}

/** The same for a ticket that does not exist and for one of a company that the key is not for. */
export function ticketNotFound(
  ticketId: string,
  info: Pick<Info, 'isOfOtherCompany' | 'retryAfterMs'> = {},
): ServiceError {
  const sent = JSON.stringify(echo(ticketId));
  const detail = `There is no ticket ${sent} that this key may write to. Check the ticket id; a new ticket may become known here within two minutes.`;
  return new ServiceError('ticket_not_found', detail, info);
}

/** A different request used the Idempotency-Key, for a record on the ticket `existing`, if the key may know that. */
export function idempotencyMismatch(lostWrite: LostWrite, existing = lostWrite.ticketId): ServiceError {
  const where = existing === lostWrite.ticketId ? '' : ` on ticket ${existing}`;
  const detail = `A different request${where} used this Idempotency-Key before, so nothing was written. Check that it identifies one event, and send another event with its own Idempotency-Key.`;
  return new ServiceError('idempotency_mismatch', detail, { lostWrite });
}

/** The database did not confirm the write, and a second read did not settle whether it happened. */
export function unknownOutcome({ idempotencyKey }: Pick<LostWrite, 'idempotencyKey'>, cause?: unknown): ServiceError {
  const retryable = idempotencyKey !== undefined;
  const detail = retryable
    ? 'The database did not confirm the write, so the record may exist. Send the same request with the same Idempotency-Key again: it never creates a second record.'
    : 'The database did not confirm the write, so the record may exist. Check the ticket before you send the request again. An Idempotency-Key makes retries safe.';
  return new ServiceError('outcome_unknown', detail, { retryable, cause });
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
