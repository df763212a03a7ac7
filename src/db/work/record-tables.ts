import type { RecordKind } from '../../domain/record-kinds.ts';
import { keyDays, notes, timeEntries } from '../schema/work.ts';

/** The table of each kind of record. */
export const RECORD_TABLES = { note: notes, time_entry: timeEntries } as const satisfies Record<RecordKind, object>;

/** The column of each kind with the text from the caller. */
export const TEXT_COLUMNS = { note: notes.message, time_entry: timeEntries.description } as const satisfies Record<
  RecordKind,
  object
>;

/** The column of the daily ledger that counts each kind. */
export const COUNT_COLUMNS = { note: keyDays.notes, time_entry: keyDays.timeEntries } as const satisfies Record<
  RecordKind,
  object
>;
