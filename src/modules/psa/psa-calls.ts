import type * as z from 'zod';
import {
  deactivateRecords,
  deactivateRequest,
  upsertRecords,
  upsertRequest,
} from '../../services/directory/change-records.ts';
import { listRecords, listRequest } from '../../services/directory/list-records.ts';
import { requireInput } from '../../services/parse-input.ts';
import type { ActorContext, DirectoryContext, SystemActor } from '../../services/service-context.ts';
import { resumePush, resumeRequest, skipPush, skipRequest } from '../../services/work/control-push.ts';
import { changesRequest, listChanges, MAX_PAGE_BYTES } from '../../services/work/list-changes.ts';
import { redactRecord, redactRequest } from '../../services/work/redact-record.ts';
import { releaseChanges, releaseRequest } from '../../services/work/release-changes.ts';
import { readPsaStatus, reportRecord, reportRequest, statusRequest } from '../../services/work/report-record.ts';
import { approvalRequest, setApproval } from '../../services/work/set-approval.ts';

/** The context of a call of the PSA over HTTP. */
export type PsaContext = ActorContext<SystemActor> & DirectoryContext;

/** A call of the PSA over HTTP: the verb of the service bindings that it runs, and its description. */
interface PsaCall {
  summary: string;
  request: z.ZodType;
  /** The `data` and `value` of the examples. */
  example: { data: object; value: object };
  /** @throws ServiceError `invalid` if the data do not have the shape of the request */
  run: (ctx: PsaContext, data: unknown) => Promise<unknown>;
}

function psaCall<Request extends z.ZodType>(
  request: Request,
  verb: (ctx: PsaContext, data: z.input<Request>) => Promise<unknown>,
  description: Pick<PsaCall, 'summary' | 'example'>,
): PsaCall {
  const run = async (ctx: PsaContext, data: unknown) => {
    requireInput(request, data);
    return verb(ctx, data);
  };
  return { request, run, ...description };
}

const CURSOR = '9f86d081884c7d65.41.01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6071';
const ENTRY = '01a3b2c4-5d6e-8f80-9a1b-2c3d4e5f6072';

/** The calls by the `type` of their message. */
export const PSA_CALLS = {
  'directory.upsert': psaCall(upsertRequest, upsertRecords, {
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
  }),
  'directory.deactivate': psaCall(deactivateRequest, deactivateRecords, {
    summary:
      'Deactivates up to 1,000 records of an organization. Each gets a status: `deactivated`, `unchanged`, `not_found`, or `service_account`, which is always active.',
    example: {
      data: { organization: 'northwind', records: [{ type: 'user', id: 'tess' }] },
      value: { records: [{ status: 'deactivated' }] },
    },
  }),
  'directory.list': psaCall(listRequest, listRecords, {
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
  }),
  'work.changes': psaCall(changesRequest, (ctx, data) => listChanges(ctx, data, MAX_PAGE_BYTES), {
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
  }),
  'work.release': psaCall(releaseRequest, releaseChanges, {
    summary:
      'Confirms that the PSA has stored all changes up to a cursor, so that the operator may archive them. `unchanged`: they were released before.',
    example: { data: { organization: 'northwind', cursor: CURSOR }, value: { status: 'released', seq: 41 } },
  }),
  'work.review': psaCall(approvalRequest, setApproval, {
    summary:
      'Sets a time entry to `APPROVED` or `REJECTED`, once, in the name of `reviewer`, an active administrator of the organization. The same decision of the same reviewer again changes nothing; any other gets `already_reviewed`.',
    example: {
      data: { organization: 'northwind', entry: ENTRY, decision: 'APPROVED', reviewer: 'ada' },
      value: { status: 'APPROVED' },
    },
  }),
  'work.report': psaCall(reportRequest, reportRecord, {
    summary:
      'Says that your system could not take a record (`refused`), or that it has now taken a record that it refused before (`taken`). Administrators see the refusal and its `reason` on the record and under "Needs attention" until then. Do not report a record that your system takes without a refusal.',
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
  }),
  'work.status': psaCall(statusRequest, readPsaStatus, {
    summary: 'Returns how many records your system refused and has not taken since.',
    example: {
      data: { organization: 'northwind' },
      value: { refused: 1, refusedSince: '2026-11-21T09:31:00.000Z' },
    },
  }),
  'work.redact': psaCall(redactRequest, redactRecord, {
    summary:
      'Replaces the text of a `note` or `time_entry` with `[redacted]`, permanently. `by` says who asked for it.',
    example: {
      data: { organization: 'northwind', kind: 'time_entry', id: ENTRY, by: 'Ada, ticket 77' },
      value: { status: 'redacted' },
    },
  }),
  'push.resume': psaCall(resumeRequest, resumePush, {
    summary:
      'Has the push try again immediately, whether a 410 stopped it or it waits after a failure. `by` says who asked for it.',
    example: {
      data: { organization: 'northwind', by: 'Ada, the receiver is repaired' },
      value: { status: 'resumed' },
    },
  }),
  'push.skip': psaCall(skipRequest, skipPush, {
    summary:
      'Has the push leave out the changes up to a cursor. They stay in `work.changes`. A push that is stopped stays stopped until `push.resume`.',
    example: {
      data: { organization: 'northwind', to: CURSOR, by: 'Ada, ticket 77' },
      value: { status: 'skipped' },
    },
  }),
} as const satisfies Record<string, PsaCall>;

export type PsaCallType = keyof typeof PSA_CALLS;
const isCallType = (text: string): text is PsaCallType => Object.hasOwn(PSA_CALLS, text);
export const PSA_CALL_TYPES = Object.keys(PSA_CALLS).filter(isCallType);
