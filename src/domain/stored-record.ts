import * as z from 'zod';
import type { RecordKind } from './record-kinds.ts';
import { AGREEMENT_SOURCES, TIME_ENTRY_STATUSES } from './time-entry.ts';

/** Each kind of record as the database gives it to the feed: times in UTC milliseconds, flags 0 or 1. */
export const STORED_RECORDS = {
  note: z.object({ id: z.string(), ticketId: z.string(), createdAt: z.int(), message: z.string() }),
  time_entry: z.object({
    id: z.string(),
    ticketId: z.string(),
    createdAt: z.int(),
    userId: z.string(),
    minutes: z.int(),
    description: z.string(),
    billable: z.literal([0, 1]),
    workDate: z.iso.date(),
    hourlyRateMinor: z.int(),
    agreementSource: z.enum(AGREEMENT_SOURCES),
    status: z.enum(TIME_ENTRY_STATUSES),
  }),
} satisfies Record<RecordKind, z.ZodType>;

export type StoredRecords = { [Kind in RecordKind]: z.output<(typeof STORED_RECORDS)[Kind]> };
