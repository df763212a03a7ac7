import { Hono } from 'hono';
import { noteRequest } from '../../domain/note.ts';
import { RECORD_KINDS } from '../../domain/record-kinds.ts';
import type { NoteResult } from '../../domain/response-shapes.ts';
import { createNote } from '../../services/work/create-note.ts';
import { type AppEnv, writeContext } from '../hono-env.ts';
import { guard } from '../middleware/guard.ts';
import { jsonBody } from '../middleware/json-body.ts';
import { respondToWrite, writeTarget } from './write.ts';

const { path, scope } = RECORD_KINDS.note;

export const notes = new Hono<AppEnv>().post(
  `/tickets/:ticketId/${path}`,
  ...guard(scope),
  ...jsonBody(noteRequest),
  async (c) => {
    const target = writeTarget(c);
    const outcome = await createNote(writeContext(c), target, c.req.valid('json'));
    const { id, createdAt } = outcome.row;
    const body: NoteResult = { note: { id, createdAt: new Date(createdAt).toISOString() } };
    return respondToWrite(c, target, outcome, body);
  },
);
