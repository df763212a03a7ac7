import { strictObject } from '../../domain/fields.ts';
import { timeEntryRequest } from '../../domain/time-entry.ts';
import { createTimeEntry } from '../../services/work/create-time-entry.ts';
import { makeTool, targetFields } from './tool.ts';

const { ticketId, idempotencyKey } = targetFields;

export const logTime = makeTool({
  name: 'log_time',
  title: 'Log time',
  description:
    'Logs time worked on a ticket, dated today. The entry is SUBMITTED: an administrator approves or rejects it before it becomes billable. The rate comes from the ticketing system.',
  input: strictObject({ ticketId, ...timeEntryRequest.shape, idempotencyKey }),
  write: async (ctx, target, body) => {
    const outcome = await createTimeEntry(ctx, target, body);
    const { id, minutes, billable, workDate, status, userId } = outcome.row;
    return {
      outcome,
      sentence: `Logged ${minutes} minutes on ticket ${target.ticketId}: time entry ${id}, dated ${workDate}, ${status} for approval`,
      facts: { status, minutes, billable: billable === 1, workDate, userId },
    };
  },
});
