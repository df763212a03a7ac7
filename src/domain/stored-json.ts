import * as z from 'zod/mini';
import { LoggableError } from '../lib/log.ts';
import {
  AGREEMENT_SOURCES,
  APPROVERS,
  type RECORD_KINDS,
  type RecordKind,
  TIME_ENTRY_STATUSES,
} from './record-kinds.ts';

/** The stored text differs from the written one: a bug, or another program wrote it. */
export class DamagedData extends LoggableError {
  override name = 'DamagedData';
}

/**
 * Parses JSON from the database. `what` names it, such as `the note of change 12`.
 * @throws DamagedData naming the fields that are wrong, without their values
 */
export function parseStored<Schema extends z.ZodMiniType>(shape: Schema, json: string, what: string): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (err) {
    // The message of a SyntaxError repeats a part of the text.
    if (err instanceof SyntaxError) throw new DamagedData(`${what} is damaged: it is not JSON`);
    throw err;
  }
  const parsed = shape.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path, code }) => `/${path.join('/')} (${code})`);
  throw new DamagedData(`${what} is damaged: ${fields.join(', ')}`);
}

/** Each kind of record as the database gives it to the feed: times in UTC milliseconds, flags 0 or 1. */
export const STORED_RECORDS = {
  note: z.lazy(() => z.object({ id: z.string(), ticketId: z.string(), createdAt: z.int(), message: z.string() })),
  time_entry: z.lazy(() =>
    z.object({
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
      approvals: z.enum(APPROVERS),
      status: z.enum(TIME_ENTRY_STATUSES),
    }),
  ),
} satisfies { [Kind in RecordKind]: z.ZodMiniType<Record<(typeof RECORD_KINDS)[Kind]['textField'], string>> };

export type StoredRecords = { [Kind in RecordKind]: z.output<(typeof STORED_RECORDS)[Kind]> };
