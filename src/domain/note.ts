import * as z from 'zod';
import { freeText, MAX_TEXT_LENGTH, strictObject } from './fields.ts';
import { replayFields } from './replay.ts';

/** Body of POST /tickets/{ticketId}/notes. */
export const noteRequest = strictObject({
  message: freeText().meta({
    description: `The text of the note, 1 to ${MAX_TEXT_LENGTH} characters: counted in Unicode code points without outer white space, stored exactly as sent. No NUL, no lone surrogates.`,
  }),
});

export type NoteRequest = z.output<typeof noteRequest>;

/** Answer to a note, written now or before. Notes are internal: the team sees them, the customer never does. */
export const noteResult = z.object({
  note: z.object({
    id: z.uuid().meta({ description: 'Identifier of the note.' }),
    createdAt: z.iso.datetime().meta({ description: 'When it was written, in UTC.' }),
  }),
  ...replayFields,
});

export type NoteResult = z.output<typeof noteResult>;
