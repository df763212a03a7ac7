import { strictObject } from '../../domain/fields.ts';
import { noteRequest } from '../../domain/note.ts';
import { createNote } from '../../services/work/create-note.ts';
import { makeTool, targetFields } from './tool.ts';

const { ticketId, idempotencyKey } = targetFields;

export const addInternalNote = makeTool({
  name: 'add_internal_note',
  title: 'Add an internal note',
  description:
    'Adds an internal note to a ticket. The PSA shows it to the team. It cannot be changed or removed afterwards.',
  input: strictObject({
    ticketId,
    message: noteRequest.shape.message.meta({ description: 'The text of the note.' }),
    idempotencyKey,
  }),
  write: async (ctx, target, body) => {
    const outcome = await createNote(ctx, target, body);
    const { id, createdAt } = outcome.row;
    return {
      outcome,
      sentence: `Added the internal note ${id} to ticket ${target.ticketId}. Only the team sees it`,
      facts: { internal: true, createdAt: new Date(createdAt).toISOString() },
    };
  },
});
