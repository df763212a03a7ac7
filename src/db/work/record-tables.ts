import type { RecordKind } from '../../domain/record-kinds.ts';
import { NOTES, type NoteRow } from './notes.ts';
import type { RecordTable } from './record-table.ts';
import { TIME_ENTRIES, type TimeEntryRow } from './time-entries.ts';

/** A record of each kind as the PSA reads it. */
export interface RecordRows {
  note: NoteRow;
  time_entry: TimeEntryRow;
}

/** The table of each kind of record, for redaction, erasure, change feed and audit log search. */
export const RECORD_TABLES: { readonly [Kind in RecordKind]: RecordTable<RecordRows[Kind]> } = {
  note: NOTES,
  time_entry: TIME_ENTRIES,
};
