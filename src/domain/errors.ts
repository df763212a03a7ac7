import type { UnauthorizedReason } from './api-key.ts';
import type { FieldError } from './fields.ts';

/** Every reason for which a verb may refuse; how each is answered stands in http/problem.ts. */
export type RefusalCode = 'psa_not_included' | 'ticket_not_found' | 'technician_not_eligible' | 'unavailable' | 'outcome_unknown';

/** Thrown by verbs that were asked for something that must not be done. `detail` is for the caller. */
export class Refusal extends Error {
  override name = 'Refusal';
  readonly code: RefusalCode;
  readonly detail: string;
  constructor(code: RefusalCode, detail: string, options?: ErrorOptions) {
    super(`${code}: ${detail}`, options);
    this.code = code;
    this.detail = detail;
  }
}

/** A key that exists, by its organization. */
export interface KeyReference {
  organizationId: string;
  keyId: string;
}

/** Thrown where a key may not be used. `reason` and, where it exists, `key` are for its administrators; the caller learns nothing. */
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

/** The organization's plan lacks PSA: found at the door, or at the moment of the write. */
export function psaNotIncluded(): Refusal {
  return new Refusal('psa_not_included', "Your organization's plan does not include PSA; ask an administrator to add it.");
}

/** The database may have committed the write but did not say so, and reading it back did not settle it. */
export class OutcomeUnknown extends Refusal {
  /** Whether sending the request again is safe: with an Idempotency-Key it never makes a second record. */
  readonly repeatable: boolean;
  constructor(repeatable: boolean, cause: unknown) {
    super(
      'outcome_unknown',
      repeatable
        ? 'The database did not confirm the write, so the record may exist. Send the same request with the same Idempotency-Key again: it never makes a second record.'
        : 'The database did not confirm the write, so the record may exist. Look at the ticket before you send it again, and send an Idempotency-Key to make repeating safe.',
      { cause },
    );
    this.repeatable = repeatable;
  }
}

/** Thrown by the verbs of administrators for input that breaks a rule. */
export class Invalid extends Error {
  override name = 'Invalid';
  readonly errors: readonly FieldError[];
  constructor(errors: readonly FieldError[]) {
    super(errors.map(({ detail }) => detail).join('; '));
    this.errors = errors;
  }
}

/** Thrown when the one-time token of a form has made a key already: a double click, or a page sent again. */
export class FormAlreadyUsed extends Error {
  override name = 'FormAlreadyUsed';
  readonly keyId: string;
  constructor(keyId: string) {
    super(`the form has made key ${keyId} already`);
    this.keyId = keyId;
  }
}

/** Thrown when whoever acts is not, or not any more, an active administrator of the organization. */
export class NotAdministrator extends Error {
  override name = 'NotAdministrator';
  constructor() {
    super('not an active administrator of this organization');
  }
}
