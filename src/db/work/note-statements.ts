import { sql } from 'drizzle-orm';
import { type Input, named, once, valuesFor } from '../query.ts';
import { notes } from '../schema/work.ts';
import {
  admitted,
  type ExplainValues,
  explain,
  type InsertValues,
  recordValues,
  returned,
  type StoredRecord,
} from './write.ts';

export type StoredNote = StoredRecord;

/** Inserts the note if key, plan and ticket allow it and the id is new; returns it or nothing. */
export const insertNote = once((db, values: Input<InsertValues & { message: string }>) =>
  db
    .insert(notes)
    .select(
      sql`select ${valuesFor(notes, { ...recordValues(values), message: values.message })} ${admitted('note', values)}`,
    )
    .onConflictDoNothing({ target: [notes.organizationId, notes.id] })
    .returning(named(returned('note', values))),
);

/** Why a note was not inserted. */
export const explainNote = once((db, values: Input<ExplainValues>) => explain(db, 'note', values, {}));
