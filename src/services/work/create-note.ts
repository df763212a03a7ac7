import { explainNote, insertNote, type NoteRow } from '../../db/statements.ts';
import type { NoteRequest } from '../../domain/note.ts';
import type { ApiContext } from '../context.ts';
import { type WriteTarget, type Written, writeOnce } from './write-once.ts';

/**
 * Adds an internal note to a ticket, with its audit row. Nothing is ever sent to a customer.
 * @throws Unauthorized, Refusal
 */
export function createNote(ctx: ApiContext, target: WriteTarget, body: NoteRequest): Promise<Written<NoteRow>> {
  return writeOnce<NoteRow>(
    ctx,
    { ...target, kind: 'note', scope: 'tickets:note:write', body },
    {
      insert: (values) => insertNote.bind(ctx.db, { ...values, message: body.message }),
      explain: (values) => explainNote.bind(ctx.db, values),
    },
  );
}
