import { RECORD_KINDS } from '../../domain/record-kinds.ts';
import { KEY_COLUMNS } from '../keys/find-key.ts';
import { columns, insertInto, statement } from '../statement.ts';
import {
  ARCHIVED_FIELDS,
  EXPLAINED_DAY,
  EXPLAINED_KEY,
  type ExplainValues,
  type Explanation,
  explainedRecord,
  FROM_WRITABLE_TICKET,
  fromExplained,
  type Inserted,
  type InsertValues,
  keyMay,
  RETURNED,
  type RecordTable,
  STORED_FIELDS,
  STORED_VALUES,
  type StoredRecord,
} from './record-table.ts';

/** A note as a write returns it. */
export type StoredNote = StoredRecord;

/** A note as the PSA reads it. */
export interface NoteRow {
  id: string;
  ticketId: string;
  createdAt: number;
  message: string;
}

export const NOTES: RecordTable<NoteRow> = {
  table: 'notes',
  textColumn: 'message',
  fields: { id: 'id', ticketId: 'ticket_id', createdAt: 'created_at', message: 'message' },
  archived: { table: 'archived_notes', columns: {}, fields: {}, actions: ['note.created'] },
};

/** Inserts the note if key, plan and ticket allow it and the id is new; returns it or nothing. */
export const insertNote = statement<InsertValues & { message: string }, StoredNote & Inserted>(`
  ${insertInto(NOTES.table, { ...STORED_VALUES, message: ':message' })}
  ${FROM_WRITABLE_TICKET}
  where ${keyMay(RECORD_KINDS.note.scope)}
  on conflict (organization_id, id) do nothing
  returning ${columns(STORED_FIELDS)}, ${RETURNED}`);

/** Why a note was not inserted: one row, or none if the key is gone. */
export const explainNote = statement<ExplainValues, Explanation<StoredNote>>(`
  select ${KEY_COLUMNS}, ${EXPLAINED_DAY}, ${explainedRecord(STORED_FIELDS, ARCHIVED_FIELDS)}, c.id is not null as ticketFound, 1 as userFound
  ${fromExplained(NOTES)}
  where ${EXPLAINED_KEY}`);
