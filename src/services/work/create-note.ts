import { explainNote, insertNote, type StoredNote } from '../../db/work/note-statements.ts';
import type { NoteRequest } from '../../domain/note.ts';
import type { WriteContext } from '../service-context.ts';
import { type WriteOutcome, type WriteTarget, writeOnce } from './write-once.ts';

/** Adds an internal note to a ticket. Nothing is ever sent to a customer. @throws as `writeOnce` */
export function createNote(
  ctx: WriteContext,
  target: WriteTarget,
  body: NoteRequest,
): Promise<WriteOutcome<StoredNote>> {
  return writeOnce(ctx, target, {
    kind: 'note',
    body,
    text: body.message,
    minutes: 0,
    insert: (values) => insertNote.bind({ ...values, message: body.message }),
    explain: (values) => explainNote.bind(values),
  });
}
