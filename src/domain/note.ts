import * as z from 'zod';
import { freeText, MAX_TEXT_LENGTH, strictObject } from './fields.ts';
import { replayFields } from './replay.ts';

export const noteRequest = strictObject({
  message: freeText().meta({
    description: `The text of the note: 1 to ${MAX_TEXT_LENGTH.toLocaleString('en')} Unicode code points, not counting leading and trailing white space. Stored exactly as sent. NUL and lone surrogates are refused.`,
  }),
});

export type NoteRequest = z.output<typeof noteRequest>;

/** Response for a note, new or already created. Notes are internal: the PSA shows them to the team. */
export const noteResult = z.object({
  note: z.object({
    id: z.uuid().meta({ description: 'Identifier of the note.' }),
    createdAt: z.iso.datetime().meta({ description: 'When the note was created, in UTC.' }),
  }),
  ...replayFields,
});

export type NoteResult = z.output<typeof noteResult>;
