import { explainNote, insertNote, type StoredNote } from '../../db/work/note-statements.ts';
import {
  explainServiceTimeEntry,
  explainTechnicianTimeEntry,
  insertServiceTimeEntry,
  insertTechnicianTimeEntry,
  type StoredTimeEntry,
} from '../../db/work/time-entry-statements.ts';
import type { NoteRequest, TimeEntryRequest } from '../../domain/record-kinds.ts';
import type { WriteContext } from '../service-context.ts';
import { type RecordWrite, type WriteTarget, writeOnce } from './write-once.ts';

const noteWrite = (body: NoteRequest): RecordWrite<StoredNote> => ({
  kind: 'note',
  body,
  text: body.message,
  minutes: 0,
  insert: (values) => insertNote.bind({ ...values, message: body.message }),
  explain: (values) => explainNote.bind(values),
});

function timeEntryWrite(body: TimeEntryRequest): RecordWrite<StoredTimeEntry> {
  const { minutes, description, billable, userEmail } = body;
  return {
    kind: 'time_entry',
    body,
    text: description,
    minutes,
    insert: (values) => {
      const entry = { ...values, description, billable: Number(billable) };
      return userEmail === undefined
        ? insertServiceTimeEntry.bind(entry)
        : insertTechnicianTimeEntry.bind({ ...entry, userEmail });
    },
    explain: (values) =>
      userEmail === undefined
        ? explainServiceTimeEntry.bind(values)
        : explainTechnicianTimeEntry.bind({ ...values, userEmail }),
  };
}

/** Adds an internal note to a ticket. Nothing is ever sent to a customer. @throws as `writeOnce` */
export const createNote = (ctx: WriteContext, target: WriteTarget, body: NoteRequest) =>
  writeOnce(ctx, target, noteWrite(body), 'write');

/**
 * Logs time on a ticket: SUBMITTED, dated today in the organization's time zone, at the rate of the company's active
 * agreement or the organization's default, credited to the named technician or the service account.
 * @throws as `writeOnce`
 */
export const createTimeEntry = (ctx: WriteContext, target: WriteTarget, body: TimeEntryRequest) =>
  writeOnce(ctx, target, timeEntryWrite(body), 'write');

/** The replay that a request to add a note would get, if there is one. A note has no date. @throws as `writeOnce` */
export async function dryRunNote(ctx: WriteContext, target: WriteTarget, body: NoteRequest) {
  const outcome = await writeOnce(ctx, target, noteWrite(body), 'dryRun');
  return 'row' in outcome ? outcome : {};
}

/** The replay that a request to log time would get, or its work date. @throws as `writeOnce` */
export const dryRunTimeEntry = (ctx: WriteContext, target: WriteTarget, body: TimeEntryRequest) =>
  writeOnce(ctx, target, timeEntryWrite(body), 'dryRun');
