import type { Hono } from 'hono';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import type { RecordKind } from '../../domain/record-kinds.ts';
import type { AppEnv } from '../context.ts';
import { createNoteOperation, notes } from './notes.ts';
import { createTimeEntryOperation, timeEntries } from './time-entries.ts';

/** The route that writes a kind of record, and the operation that documents it. */
interface RecordEndpoint {
  route: Hono<AppEnv>;
  operation: ZodOpenApiOperationObject;
}

/** The endpoint of each kind of record. */
export const RECORD_ENDPOINTS: Readonly<Record<RecordKind, RecordEndpoint>> = {
  note: { route: notes, operation: createNoteOperation },
  time_entry: { route: timeEntries, operation: createTimeEntryOperation },
};
