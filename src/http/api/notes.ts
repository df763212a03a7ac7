import { Hono } from 'hono';
import { type NoteCreated, noteRequest } from '../../domain/note.ts';
import type { AppEnv } from '../../env.ts';
import { createNote } from '../../services/work/create-note.ts';
import { guard } from '../guard.ts';
import { apiContext } from '../service-context.ts';
import { jsonBody, writeTarget } from '../validate.ts';
import { answerWritten } from './answer-write.ts';

/** POST /tickets/{ticketId}/notes: adds an internal note. */
export const notes = new Hono<AppEnv>().post(
  '/tickets/:ticketId/notes',
  ...guard('tickets:note:write'),
  ...jsonBody(noteRequest),
  async (c) => {
    const written = await createNote(apiContext(c), writeTarget(c), c.req.valid('json'));
    const { id, createdAt } = written.row;
    const answer: NoteCreated = { note: { id, createdAt: new Date(createdAt).toISOString() } };
    return answerWritten(c, written, answer);
  },
);
