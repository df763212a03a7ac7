import type { CallError } from '../../services/call-result.ts';

/** Each error of a call over HTTP: its status, and what it means. */
export const PSA_ERRORS = {
  invalid: { status: 422, meaning: 'The message breaks a rule; `errors` names each field.' },
  organization_not_found: { status: 404, meaning: 'There is no organization with this id.' },
  record_not_found: { status: 404, meaning: 'The organization has no record with this id.' },
  cursor_reset: {
    status: 409,
    meaning: 'The position is not in this database, which was restored or replaced: start again with `null`.',
  },
  already_reviewed: {
    status: 409,
    meaning:
      'The time entry was reviewed before, with another decision or by another administrator: see `decision`, `reviewer` and `reviewedAt`.',
  },
  superseded: {
    status: 409,
    meaning:
      'A newer change of this directory was applied, at `newestAt`, so this one was not. If it still applies, read the state of your system again, and after `Retry-After` sign a message with the current time. Compare `serverTime` with your clock.',
  },
  reviewer_not_eligible: {
    status: 422,
    meaning: 'The reviewer is not an active administrator of the organization.',
  },
  unavailable: {
    status: 503,
    meaning:
      'The database did not respond: send the same message again after `Retry-After`; sign it again only if it is older than five minutes and still applies.',
  },
  not_pushed: { status: 409, meaning: 'The deployment pushes no changes: the operator has not set `WEBHOOK_URL`.' },
  being_erased: {
    status: 409,
    meaning:
      'The operator is erasing the organization, so it cannot be read or changed. Wait until the erasure finishes before you send it again.',
  },
  // No call over HTTP erases an organization.
  not_exported: { status: 409, meaning: 'The organization has changes after the cursor.' },
} as const satisfies Record<CallError['code'], { status: number; meaning: string }>;
