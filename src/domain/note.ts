import type * as z from 'zod';
import { freeText, record } from './fields.ts';

/** Body of POST /tickets/{ticketId}/notes. */
export const noteRequest = record({ message: freeText() });

export type NoteRequest = z.output<typeof noteRequest>;
