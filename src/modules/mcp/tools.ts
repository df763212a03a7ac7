import * as z from 'zod/mini';
import { strictObject } from '../../domain/fields.ts';
import { noteRequest, RECORD_KIND_NAMES, type RecordKind, timeEntryRequest } from '../../domain/record-kinds.ts';
import type { NoteResult, TimeEntryResult } from '../../domain/response-shapes.ts';
import { callFields, makeTool, type Tool } from './tool.ts';

const { ticketId, idempotencyKey, dryRun } = callFields;
const fields = timeEntryRequest.shape;

/** The tool that writes each kind of record. There is no tool that reads. */
export const TOOLS: Readonly<Record<RecordKind, Tool>> = {
  note: makeTool({
    name: 'add_internal_note',
    title: 'Add an internal note',
    description:
      'Adds an internal note to a ticket. The PSA shows it to the team. It cannot be changed or removed afterwards.',
    input: strictObject({
      ticketId,
      message: noteRequest.shape.message.check(z.meta({ description: 'The text of the note.' })),
      idempotencyKey,
      dryRun,
    }),
    show: ({ note: { id, createdAt } }: NoteResult, ticketId) => ({
      id,
      sentence: `Added the internal note ${id} to ticket ${ticketId}. Only the team sees it`,
      facts: { internal: true, createdAt },
    }),
  }),
  time_entry: makeTool({
    name: 'log_time',
    title: 'Log time',
    description:
      'Logs time worked on a ticket, dated today. The entry is SUBMITTED: an administrator approves or rejects it before it becomes billable. The rate comes from the ticketing system.',
    input: strictObject({
      ticketId,
      minutes: fields.minutes,
      description: fields.description.check(z.meta({ description: 'The work that was done.' })),
      billable: fields.billable.check(
        z.meta({ description: 'Whether the customer pays for the time. If you were not told, ask.' }),
      ),
      userEmail: fields.userEmail.check(
        z.meta({
          description:
            'The email address of the technician who did the work. Leave it out unless you were told who it was.',
        }),
      ),
      idempotencyKey,
      dryRun,
    }),
    show: ({ entry: { id, minutes, billable, status, userId, ...entry } }: TimeEntryResult, ticketId) => {
      const workDate = entry.workDate.slice(0, 10);
      return {
        id,
        sentence: `Logged ${minutes} minutes on ticket ${ticketId}: time entry ${id}, dated ${workDate}, ${status} for approval`,
        facts: { status, minutes, billable, workDate, userId },
      };
    },
  }),
};

export function kindOfTool(name: string): RecordKind | undefined {
  return RECORD_KIND_NAMES.find((kind) => TOOLS[kind].name === name);
}
