import * as z from 'zod';
import { fromKeys } from '../lib/objects.ts';
import { ACTOR_TYPES, AUDIT_ACTION_GROUPS } from './audit-actions.ts';
import { DIRECTORY_FIELDS, DIRECTORY_TYPES, fieldsOf } from './directory.ts';
import { AGREEMENT_SOURCES, APPROVAL_DECISIONS, APPROVERS, TIME_ENTRY_STATUSES } from './record-kinds.ts';
import { fieldErrorShape } from './response-shapes.ts';

// What the PSA receives. The shapes are for the documents: the Worker imports only their types, so the shapes are not
// in its bundle. Everything in them can be sent over RPC and serialized as JSON.

export const nullable = <Shape extends z.ZodType>(shape: Shape) => z.union([shape, z.null()]);
export const time = () => z.iso.datetime().meta({ description: 'ISO 8601, UTC.' });

const plainText = z.object({ mediaType: z.literal('text/plain'), text: z.string() }).meta({
  id: 'PlainText',
  description: 'Text of a person or an automation. It is not markup: escape it before you show it.',
});

const note = z
  .object({ id: z.uuid(), ticketId: z.string(), createdAt: time(), message: plainText })
  .meta({ id: 'Note' });

const timeEntry = z
  .object({
    id: z.uuid(),
    ticketId: z.string(),
    createdAt: time(),
    userId: z.string(),
    minutes: z.int(),
    description: plainText,
    billable: z.boolean(),
    workDate: z.iso
      .datetime()
      .meta({ description: "The day in the organization's time zone, written as midnight UTC." }),
    hourlyRate: z.number(),
    agreementSource: z.enum(AGREEMENT_SOURCES),
    approvals: z.enum(APPROVERS).meta({
      description:
        'Who decides about it. Create it in your system if `approvals` is `psa` or `status` is `APPROVED`, whatever the action.',
    }),
    status: z.enum(TIME_ENTRY_STATUSES),
  })
  .meta({ id: 'TimeEntry' });

const key = z
  .object({
    id: z.string(),
    name: plainText,
    hint: z.string(),
    expiresAt: nullable(time()),
    revokedAt: nullable(time()),
    successorId: nullable(z.string()),
  })
  .meta({ id: 'Key', description: 'The key that wrote the record, or that the change is about, as it is now.' });

const ACTIONS = AUDIT_ACTION_GROUPS.flatMap(({ actions }) => actions.map(([action]) => `\`${action}\``)).join(', ');

export const change = z
  .object({
    cursor: z.string().meta({ description: 'Pass it to `work.changes` to continue after this change.' }),
    seq: z.int().meta({ description: 'Counts from 1 without gaps within the organization.' }),
    at: time(),
    action: z.string().meta({ description: `One of ${ACTIONS}. Ignore actions that you do not know.` }),
    actor: z.object({ type: z.enum(ACTOR_TYPES), id: z.string(), name: plainText }),
    targetId: z.string(),
    ticketId: nullable(z.string()),
    requestId: z.string(),
    idempotencyKey: nullable(z.string()),
    detail: nullable(plainText),
    note: nullable(note),
    timeEntry: nullable(timeEntry),
    key: nullable(key),
  })
  .meta({
    id: 'Change',
    description: 'One row of the audit log, with its record as it is now.',
  });

export const changesPage = z
  .object({
    changes: z.array(change),
    cursor: nullable(z.string()),
    more: z.boolean(),
  })
  .meta({ id: 'ChangesPage' });

export const upserted = z
  .object({
    written: z.boolean().meta({
      description: 'Whether all records are stored as sent. If not, at least one is `refused`.',
    }),
    records: z.array(
      z.union([
        z.object({ status: z.enum(['created', 'changed', 'unchanged', 'not_written']) }),
        z.object({ status: z.literal('refused'), errors: z.array(fieldErrorShape) }),
      ]),
    ),
  })
  .meta({ id: 'Upserted', description: 'One status for each record, in their order.' });

export const deactivated = z
  .object({
    records: z.array(z.object({ status: z.enum(['deactivated', 'unchanged', 'not_found', 'service_account']) })),
  })
  .meta({ id: 'Deactivated', description: 'One status for each record, in their order.' });

const LISTED = {
  text: z.string(),
  flag: z.boolean(),
  rate: z.number().meta({ description: 'In major units, at most two decimals.' }),
};
const listedRecord = z
  .union(
    DIRECTORY_TYPES.map((type) =>
      z.object({
        type: z.literal(type),
        ...(type !== 'organization' && { organization: z.string() }),
        id: z.string(),
        ...fromKeys(fieldsOf(type), (field) => LISTED[DIRECTORY_FIELDS[field].contains]),
      }),
    ),
  )
  .meta({ id: 'ListedRecord', description: 'In the form of `directory.upsert`.' });

export const listed = z
  .object({
    records: z.array(listedRecord),
    cursor: nullable(z.string()).meta({ description: 'The id of the last record: pass it to continue after it.' }),
    more: z.boolean(),
  })
  .meta({ id: 'Listed' });

export const psaStatus = z
  .object({
    refused: z.int().meta({ description: 'How many records were reported as refused, and not as taken since.' }),
    refusedSince: nullable(time()).meta({
      description: 'When the oldest of them was reported with its present reason.',
    }),
  })
  .meta({ id: 'PsaStatus' });

export type PsaStatus = z.output<typeof psaStatus>;

/** The fields of an error in addition to its code. */
export const callErrorFields = z.object({
  decision: z.enum(APPROVAL_DECISIONS).optional().meta({ description: 'For `already_reviewed`: the stored decision.' }),
  reviewer: nullable(z.string())
    .optional()
    .meta({ description: "For `already_reviewed`: the administrator's id, or `psa`." }),
  reviewedAt: nullable(time()).optional().meta({ description: 'For `already_reviewed`: when it was reviewed.' }),
  newestAt: time().optional().meta({ description: 'For `superseded`: the time of the newest change.' }),
  serverTime: time().optional().meta({ description: 'For `superseded`: the service clock.' }),
  retryAfter: z
    .int()
    .optional()
    .meta({ description: 'For `superseded`: in how many seconds a message that is signed then is applied.' }),
});

export type CallErrorFields = z.output<typeof callErrorFields>;

/** One row of the audit log, with its record in its current state: a redaction shows in all its changes. */
export type Change = z.output<typeof change>;

export type ChangesPage = z.output<typeof changesPage>;

/** The result for one record, at its index. `not_written`: with `allOrNothing`, another record was refused. */
export type Upserted = z.output<typeof upserted>;

/** A page of records. What each field is depends on the `type` of the record. */
export type ListedRecords = Omit<z.output<typeof listed>, 'records'> & {
  records: Record<string, string | number | boolean>[];
};

/** The result for one record. `service_account`: it stays active until another user replaces it. */
export type DeactivatedRecord = z.output<typeof deactivated>['records'][number];
