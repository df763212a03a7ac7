import type { RecordKind } from '../../domain/record-kinds.ts';
import type { StoredRecords } from '../../domain/stored-json.ts';
import { NOTES } from './note-statements.ts';
import type { RecordTable } from './record-table.ts';
import { TIME_ENTRIES } from './time-entry-statements.ts';

/** The table of each kind of record, for redaction, erasure, change feed and audit log search. */
export const RECORD_TABLES: { readonly [Kind in RecordKind]: RecordTable<StoredRecords[Kind]> } = {
  note: NOTES,
  time_entry: TIME_ENTRIES,
};
