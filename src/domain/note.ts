import type * as z from 'zod';
import { inThousands } from '../lib/in-thousands.ts';
import { freeText, MAX_TEXT_LENGTH, strictObject } from './fields.ts';

export const noteRequest = strictObject({
  message: freeText().meta({
    description: `The text of the note: 1 to ${inThousands(MAX_TEXT_LENGTH)} Unicode code points, not counting leading and trailing white space. Stored exactly as sent. NUL and lone surrogates are refused.`,
  }),
});

export type NoteRequest = z.output<typeof noteRequest>;
