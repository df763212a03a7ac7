import type { StoredRecords } from '../../domain/stored-json.ts';
import { statement } from '../statement.ts';
import {
  type ExplainValues,
  type Explanation,
  explained,
  INSERTED_FROM,
  type Inserted,
  type InsertValues,
  insertedIf,
  type RecordTable,
  type StoredRecord,
} from './record-table.ts';

export type StoredNote = StoredRecord;

export const NOTES: RecordTable<StoredRecords['note']> = {
  table: 'notes',
  fields: { id: 'id', ticketId: 'ticket_id', createdAt: 'created_at', message: 'message' },
};

/** Inserts the note if key, plan and ticket allow it and the id is new; returns it or nothing. */
export const insertNote = statement<InsertValues & { message: string }, StoredNote & Inserted>(`
  insert into notes (
    organization_id, id, ticket_id, created_at, key_id,
    request_id, request_digest, audit_seq, message)
  select
    k.organization_id, :id, t.id, :now, k.id,
    :requestId, :requestDigest, coalesce(p.seq, 0) + 1, :message
  ${INSERTED_FROM}
  ${insertedIf('note')}`);

/** Why a note was not inserted. */
export const explainNote = statement<ExplainValues, Explanation<StoredNote>>(explained(NOTES.table));
