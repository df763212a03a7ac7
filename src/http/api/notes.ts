import { Hono } from 'hono';
import { type NoteResult, noteRequest, noteResult } from '../../domain/note.ts';
import { RECORD_KINDS } from '../../domain/record-kinds.ts';
import { createNote } from '../../services/work/create-note.ts';
import { type AppEnv, writeContext } from '../context.ts';
import { guard } from '../middleware/guard.ts';
import { jsonBody } from '../middleware/json-body.ts';
import { answerWrite } from './answer-write.ts';
import { writeOperation } from './operation.ts';
import { writeTarget } from './write-target.ts';

const { path, scope } = RECORD_KINDS.note;

/** POST /tickets/{ticketId}/notes: adds an internal note. */
export const notes = new Hono<AppEnv>().post(
  `/tickets/:ticketId/${path}`,
  ...guard(scope),
  ...jsonBody(noteRequest),
  async (c) => {
    const outcome = await createNote(writeContext(c), writeTarget(c), c.req.valid('json'));
    const { id, createdAt } = outcome.row;
    const body: NoteResult = { note: { id, createdAt: new Date(createdAt).toISOString() } };
    return answerWrite(c, outcome, body);
  },
);

export const createNoteOperation = writeOperation({
  operationId: 'createNote',
  schemaName: 'Note',
  summary: 'Add an internal note to a ticket',
  description: `Requires the scope \`${scope}\`. The note is for the team only: the customer never sees it and no email is sent.`,
  request: noteRequest,
  requestExamples: { note: { summary: 'A note', value: { message: 'Print queue cleared by the overnight check.' } } },
  result: noteResult,
  example: { note: { id: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6072', createdAt: '2026-11-21T09:30:00.000Z' } },
  meaning: {
    created: 'The note was created.',
    replayed: 'A replay: this Idempotency-Key already created the note.',
  },
});
