import * as z from 'zod';
import type { FieldError } from './fields.ts';
import { AGREEMENT_SOURCES, MAX_MINUTES, SCOPE_IDS, TIME_ENTRY_STATUSES } from './record-kinds.ts';

// The shapes of responses. The Worker uses only their types, so no isolate builds them when it starts.

/**
 * Additional response fields if the Idempotency-Key already created the record. A 201 has none of them, but both
 * responses share one schema: several client generators use the schema of the first 2xx for all of them.
 */
const replayFields = {
  idempotentReplay: z
    .literal(true)
    .optional()
    .meta({ description: 'Present in a 200: the record already existed; this request wrote nothing.' }),
  idempotencyMismatch: z.literal(true).optional().meta({
    description:
      'Present if this request differs from the one that created the record, unless that was redacted: the Idempotency-Key was already used for a different request.',
  }),
  ticketId: z.string().optional().meta({ description: 'Present with a mismatch: the ticket of the existing record.' }),
};

export type ReplayFields = z.output<z.ZodObject<typeof replayFields>>;

/** Response for a note, new or already created. Notes are internal: the PSA shows them to the team. */
export const noteResult = z.object({
  note: z.object({
    id: z.uuid().meta({ description: 'Identifier of the note.' }),
    createdAt: z.iso.datetime().meta({ description: 'When the note was created, in UTC.' }),
  }),
  ...replayFields,
});

export type NoteResult = z.output<typeof noteResult>;

/** Response for a time entry, new or already created. The status of an earlier one may have changed. */
export const timeEntryResult = z.object({
  entry: z.object({
    id: z.uuid().meta({ description: 'Identifier of the entry.' }),
    minutes: z.int().min(1).max(MAX_MINUTES).meta({ description: 'Minutes worked.' }),
    workDate: z.iso
      .datetime()
      .meta({ description: "The day the entry was logged, in the organization's time zone, written as midnight UTC." }),
    status: z
      .enum(TIME_ENTRY_STATUSES)
      .meta({ description: 'A new entry is SUBMITTED. An administrator approves or rejects it.' }),
    billable: z.boolean().meta({ description: 'Whether the time is billable.' }),
    hourlyRate: z.number().min(0).meta({
      description:
        "From the company's agreement or the organization's default; the caller cannot set it. At most two decimals.",
    }),
    userId: z.string().meta({ description: 'The technician credited, or the automation service account.' }),
  }),
  agreementSource: z.enum(AGREEMENT_SOURCES).meta({
    description:
      "Where the rate came from: the active agreement of the ticket's company, or the organization's default rate.",
  }),
  ...replayFields,
});

export type TimeEntryResult = z.output<typeof timeEntryResult>;

/** Response to a dry run. No rate, no user and no record: nothing that the caller did not send, except the date. */
export const dryRunResult = z.object({
  dryRun: z.literal(true).meta({ description: 'Nothing was written.' }),
  ticketId: z.string().meta({ description: 'As sent.' }),
  workDate: z.iso.datetime().optional().meta({ description: 'For time: the day that the entry would get now.' }),
  idempotentReplay: z.literal(true).optional().meta({
    description: 'Present if the Idempotency-Key is in use: the request would write nothing.',
  }),
});

export type DryRunResult = z.output<typeof dryRunResult>;

export const pingResponse = z.object({
  ok: z.literal(true),
  organizationId: z.string().meta({ description: 'The organization that the key belongs to.' }),
  keyName: z.string().meta({ description: "The key's name in the settings." }),
  scopes: z.array(z.enum(SCOPE_IDS)).meta({ description: 'What the key may write.' }),
});

export type PingResponse = z.output<typeof pingResponse>;

export const fieldErrorShape = z.object({
  pointer: z.string().meta({ description: 'The field, as a JSON Pointer (RFC 6901); empty for the body itself.' }),
  code: z.string().meta({
    description: 'The rule that was broken, such as `required`, `invalid_type`, `out_of_range` or `unknown_field`.',
  }),
  detail: z.string().meta({ description: 'What was sent and what to send instead.' }),
}) satisfies z.ZodType<FieldError>;
