/** Every reason for which a verb of the PSA declines what is well-formed. */
export type DeclinedCode =
  | 'organization_not_found'
  | 'cursor_reset'
  | 'record_not_found'
  | 'key_not_found'
  | 'already_reviewed'
  | 'reviewer_not_eligible'
  | 'not_exported';

/** Thrown by the verbs of the PSA for what must not or cannot be done. */
export class Declined extends Error {
  override name = 'Declined';
  readonly code: DeclinedCode;
  constructor(code: DeclinedCode, detail: string) {
    super(detail);
    this.code = code;
  }
}
