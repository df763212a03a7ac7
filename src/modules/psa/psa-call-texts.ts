import type { CallError } from '../../services/call-result.ts';
import type { PsaCallType } from './psa-calls.ts';

// Texts for the documentation, outside the bundle of the Worker.

interface CallText {
  summary: string;
  /** The `data` and `value` of the example. */
  example: { data: object; value: object };
}

const CURSOR = '9f86d081884c7d65.41.01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6071';
const ENTRY = '01a3b2c4-5d6e-8f80-9a1b-2c3d4e5f6072';

/** The description of each call. */
export const PSA_CALL_TEXTS: Readonly<Record<PsaCallType, CallText>> = {
  'directory.upsert': {
    summary:
      'Creates or changes up to 1,000 records of an organization, in one transaction. Each gets a status: `created`, `changed`, `unchanged`, or `refused` with its errors. A refused record does not keep the others from being written, except those that need it: a ticket of a refused company is refused, too. With `"allOrNothing": true`, nothing is written if a record is refused: the others are `not_written`.',
    example: {
      data: {
        organization: 'northwind',
        records: [
          { type: 'company', organization: 'northwind', id: 'acme', name: 'Acme Ltd' },
          { type: 'ticket', organization: 'northwind', id: '1001', company: 'acme' },
        ],
      },
      value: { written: true, records: [{ status: 'changed' }, { status: 'unchanged' }] },
    },
  },
  'directory.deactivate': {
    summary:
      'Deactivates up to 1,000 records of an organization. Each gets a status: `deactivated`, `unchanged`, `not_found`, or `service_account`, which is always active.',
    example: {
      data: { organization: 'northwind', records: [{ type: 'user', id: 'tess' }] },
      value: { records: [{ status: 'deactivated' }] },
    },
  },
  'directory.list': {
    summary:
      'Returns the records of one type that the service has, active or not, in the order of their ids: up to 1,000. Compare them with your own and deactivate what is gone. While `more` is true, continue with `cursor`. A user named `service-account` is the one that the service creates for an organization whose directory has no service account.',
    example: {
      data: { organization: 'northwind', type: 'ticket', cursor: null },
      value: {
        records: [{ type: 'ticket', organization: 'northwind', id: '1001', company: 'acme', active: true }],
        cursor: '1001',
        more: false,
      },
    },
  },
  'work.changes': {
    summary:
      'Returns the changes after a cursor (`null`: from the first one), oldest first, without gaps: at most 100 changes and 512 KiB. While `more` is true, continue with `cursor`. If the next changes are archived, `archives` names their objects instead.',
    example: {
      data: { organization: 'northwind', cursor: null, limit: 100 },
      value: {
        changes: [
          {
            cursor: CURSOR,
            seq: 41,
            at: '2026-11-21T09:30:00.000Z',
            action: 'time_entry.created',
            actor: {
              type: 'api_key',
              id: 'b07ce502-7ace-7535-8164-a34489a2079e',
              name: { mediaType: 'text/plain', text: 'n8n: triage' },
            },
            targetId: ENTRY,
            ticketId: '1001',
            requestId: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6071',
            idempotencyKey: 'triage:evt-20418',
            detail: null,
            note: null,
            timeEntry: {
              id: ENTRY,
              ticketId: '1001',
              createdAt: '2026-11-21T09:30:00.000Z',
              userId: 'tess',
              minutes: 30,
              description: { mediaType: 'text/plain', text: 'Cleared the print queue' },
              billable: true,
              workDate: '2026-11-21T00:00:00.000Z',
              hourlyRate: 150,
              agreementSource: 'company_default',
              status: 'SUBMITTED',
            },
            key: {
              id: 'b07ce502-7ace-7535-8164-a34489a2079e',
              name: { mediaType: 'text/plain', text: 'n8n: triage' },
              hint: 'twb_Ab12…x9Yz',
              expiresAt: null,
              revokedAt: null,
              successorId: null,
            },
          },
        ],
        archives: [],
        cursor: CURSOR,
        more: false,
      },
    },
  },
  'work.release': {
    summary:
      'Confirms that the PSA has stored all changes up to a cursor, so that the operator may archive them. `unchanged`: they were released before.',
    example: { data: { organization: 'northwind', cursor: CURSOR }, value: { status: 'released', seq: 41 } },
  },
  'work.review': {
    summary:
      'Sets a time entry to `APPROVED` or `REJECTED`, once, in the name of `reviewer`, an active administrator of the organization. The same decision of the same reviewer again changes nothing; any other gets `already_reviewed`.',
    example: {
      data: { organization: 'northwind', entry: ENTRY, decision: 'APPROVED', reviewer: 'ada' },
      value: { status: 'APPROVED' },
    },
  },
  'work.report': {
    summary:
      'Reports that your system could not take a record (`refused`), or that it has now taken a record that it refused before (`taken`). Administrators see the refusal and its `reason` on the record and under "Needs attention" until then. Do not report a record that your system takes without a refusal.',
    example: {
      data: {
        organization: 'northwind',
        kind: 'time_entry',
        id: ENTRY,
        result: 'refused',
        reason: 'Ticket 1001 is closed for time entries.',
      },
      value: { status: 'recorded' },
    },
  },
  'work.status': {
    summary: 'Returns how many records your system refused and has not taken since.',
    example: {
      data: { organization: 'northwind' },
      value: { refused: 1, refusedSince: '2026-11-21T09:31:00.000Z' },
    },
  },
  'work.redact': {
    summary:
      'Replaces the text of a `note` or `time_entry` with `[redacted]`, permanently. `by` records who asked for it.',
    example: {
      data: { organization: 'northwind', kind: 'time_entry', id: ENTRY, by: 'Ada, ticket 77' },
      value: { status: 'redacted' },
    },
  },
  'push.resume': {
    summary:
      'Retries the push immediately, even if a 410 stopped it or it waits after a failure. `by` records who asked for it.',
    example: {
      data: { organization: 'northwind', by: 'Ada, the receiver is repaired' },
      value: { status: 'resumed' },
    },
  },
  'push.skip': {
    summary:
      'Skips the changes up to a cursor in the push. They stay in `work.changes`. A push that is stopped stays stopped until `push.resume`.',
    example: {
      data: { organization: 'northwind', to: CURSOR, by: 'Ada, ticket 77' },
      value: { status: 'skipped' },
    },
  },
};

/** The meaning of each error of a call. No call over HTTP erases an organization (`not_exported`). */
export const PSA_ERROR_MEANINGS: Readonly<Record<Exclude<CallError['code'], 'not_exported'>, string>> = {
  invalid: 'The message breaks a rule; `errors` names each field.',
  organization_not_found: 'There is no organization with this id.',
  record_not_found: 'The organization has no record with this id.',
  cursor_reset: 'The position is not in this database, which was restored or replaced: start again with `null`.',
  already_reviewed:
    'The time entry was reviewed before, with another decision or by another administrator: see `decision`, `reviewer` and `reviewedAt`.',
  superseded:
    'A newer change of this directory was applied, at `newestAt`, so this one was not. If it still applies, read the state of your system again, and after `Retry-After` sign a message with the current time. Compare `serverTime` with your clock.',
  reviewer_not_eligible: 'The reviewer is not an active administrator of the organization.',
  unavailable:
    'The database did not respond: send the same message again after `Retry-After`; sign it again only if it is older than five minutes and still applies.',
  not_pushed: 'The deployment pushes no changes: the operator has not set `WEBHOOK_URL`.',
  being_erased:
    'The operator is erasing the organization, so it cannot be read or changed. Wait until the erasure finishes before you send it again.',
};
