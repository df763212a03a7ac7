import * as z from 'zod';
import type { ArchivedChanges } from '../../domain/archived-changes.ts';
import type { Change, ChangedKey, ChangedNote, ChangedTimeEntry, PlainText } from '../../domain/change.ts';
import { describedRecord } from '../../domain/directory.ts';
import { fieldErrorShape } from '../../domain/fields.ts';
import { AGREEMENT_SOURCES, TIME_ENTRY_STATUSES } from '../../domain/time-entry.ts';
import { CALL_ERRORS, type CallError } from '../../services/answer.ts';
import type { DeactivatedRecord, Upserted } from '../../services/directory/change-records.ts';
import type { ChangesPage } from '../../services/work/list-changes.ts';
import type { Released } from '../../services/work/release-changes.ts';
import { PSA_CALL_TYPES, PSA_CALLS, type PsaCallType } from './psa-calls.ts';

// The shapes of messages and answers, for the document. Each has the type of what the service sends,
// so that the two cannot disagree.

export const nullable = <Shape extends z.ZodType>(shape: Shape) => z.union([shape, z.null()]);
export const time = () => z.iso.datetime().meta({ description: 'ISO 8601, UTC.' });

export const plainText: z.ZodType<PlainText> = z.object({ mediaType: z.literal('text/plain'), text: z.string() }).meta({
  id: 'PlainText',
  description: 'Text of a person or an automation. It is not markup: escape it before you show it.',
});

const note: z.ZodType<ChangedNote> = z
  .object({ id: z.uuid(), ticketId: z.string(), createdAt: time(), message: plainText })
  .meta({ id: 'Note' });

const timeEntry: z.ZodType<ChangedTimeEntry> = z
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
    status: z.enum(TIME_ENTRY_STATUSES),
  })
  .meta({ id: 'TimeEntry' });

const key: z.ZodType<ChangedKey> = z
  .object({
    id: z.string(),
    name: plainText,
    hint: z.string(),
    expiresAt: nullable(time()),
    revokedAt: nullable(time()),
    successorId: nullable(z.string()),
  })
  .meta({ id: 'Key', description: 'The key that wrote the record, or that the change is about, as it is now.' });

const change: z.ZodType<Change> = z
  .object({
    cursor: z.string().meta({ description: 'Pass it to `work.changes` to continue after this change.' }),
    seq: z.int().meta({ description: 'Counts from 1 without gaps within the organization.' }),
    at: time(),
    action: z.string().meta({ description: 'Such as `note.created`. Ignore actions that you do not know.' }),
    actor: z.object({ type: z.enum(['api_key', 'user', 'system']), id: z.string(), name: plainText }),
    targetId: z.string(),
    ticketId: nullable(z.string()),
    requestId: z.string(),
    idempotencyKey: nullable(z.string()),
    detail: nullable(plainText),
    note: nullable(note),
    timeEntry: nullable(timeEntry),
    key: nullable(key),
  })
  .meta({ id: 'Change', description: 'One row of the audit log, with its record as it is now.' });

const archivedChanges: z.ZodType<ArchivedChanges> = z
  .object({
    object: z.string().meta({ description: 'The name of the object in the archive of the operator.' }),
    digest: z.string().meta({ description: 'SHA-256 of the object in hex.' }),
    bytes: z.int(),
    fromSeq: z.int(),
    toSeq: z.int(),
    cursor: z.string().meta({ description: 'Pass it to `work.changes` to continue after these changes.' }),
  })
  .meta({
    id: 'ArchivedChanges',
    description: 'Changes that the PSA has released and that are archived: gzip of lines of JSON, each a `Change`.',
  });

const changesPage: z.ZodType<ChangesPage> = z
  .object({
    changes: z.array(change),
    archives: z.array(archivedChanges).meta({
      description: 'Archived changes, which come before all others: a page has these or `changes`.',
    }),
    cursor: nullable(z.string()),
    more: z.boolean(),
  })
  .meta({ id: 'ChangesPage' });

const upserted: z.ZodType<Upserted> = z
  .object({
    written: z.boolean().meta({ description: 'Whether the records were written: all of them, or none.' }),
    records: z.array(
      z.union([
        z.object({ status: z.enum(['created', 'changed', 'unchanged', 'not_written']) }),
        z.object({ status: z.literal('refused'), errors: z.array(fieldErrorShape) }),
      ]),
    ),
  })
  .meta({ id: 'Upserted', description: 'One status for each record, in their order.' });

const deactivated: z.ZodType<{ records: DeactivatedRecord[] }> = z
  .object({
    records: z.array(z.object({ status: z.enum(['deactivated', 'unchanged', 'not_found', 'service_account']) })),
  })
  .meta({ id: 'Deactivated', description: 'One status for each record, in their order.' });

const VALUES: Record<PsaCallType, z.ZodType> = {
  'directory.upsert': upserted,
  'directory.deactivate': deactivated,
  'work.changes': changesPage,
  'work.release': z
    .object({ status: z.enum(['released', 'unchanged']), seq: z.int() })
    .meta({ id: 'Released', description: 'Everything up to `seq` is released.' }) satisfies z.ZodType<Released>,
  'work.review': z.object({ status: z.enum(['APPROVED', 'REJECTED']) }).meta({ id: 'Reviewed' }),
  'work.redact': z.object({ status: z.enum(['redacted', 'unchanged']) }).meta({ id: 'Redacted' }),
};

/** `directory.upsert` accepts its records one by one, so its own shape does not say what they are. */
const REQUESTS: Partial<Record<PsaCallType, z.ZodType>> = {
  'directory.upsert': z.strictObject({
    organization: z.string().meta({ description: 'The organization of all records.' }),
    records: z.array(describedRecord()).max(1_000),
  }),
};

/** A message of each type. */
export const messages = PSA_CALL_TYPES.map((type) =>
  z
    .strictObject({
      type: z.literal(type),
      data: REQUESTS[type] ?? PSA_CALLS[type].request,
      timestamp: z.string().optional().meta({ description: 'Ignored: the time is that of the header.' }),
    })
    .meta({ id: `${pascalCase(type)}Message`, description: PSA_CALLS[type].summary }),
);

/** The answer to a call that succeeded. Its values are in the order of the messages. */
export const success = z
  .object({ ok: z.literal(true), value: z.union(PSA_CALL_TYPES.map((type) => VALUES[type])) })
  .meta({ id: 'Success' });

const callError: z.ZodType<CallError> = z
  .object({
    code: z.enum(CALL_ERRORS),
    detail: z.string().meta({ description: 'What is wrong and what to do. For people: compare `code` instead.' }),
    errors: z.array(fieldErrorShape).meta({ description: 'For `invalid`: each wrong field.' }),
  })
  .meta({ id: 'CallError' });

/** The answer to a call that did nothing. */
export const failure = z.object({ ok: z.literal(false), error: callError }).meta({ id: 'Failure' });

/** What is pushed: a page of changes. */
export const pushedPage = z
  .object({
    type: z.literal('work.changes'),
    timestamp: time(),
    data: z.object({ organization: z.string(), changes: z.array(change), cursor: z.string() }),
  })
  .meta({ id: 'PushedPage' });

/** `work.changes` as `WorkChanges`. */
function pascalCase(type: PsaCallType): string {
  return type.replaceAll(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase());
}
