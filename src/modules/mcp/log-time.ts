import { strictObject } from '../../domain/fields.ts';
import { timeEntryRequest } from '../../domain/time-entry.ts';
import { createTimeEntry } from '../../services/work/create-time-entry.ts';
import { makeTool, targetFields } from './tool.ts';

const { ticketId, idempotencyKey } = targetFields;
const fields = timeEntryRequest.shape;

export const logTime = makeTool({
  name: 'log_time',
  title: 'Log time',
  description:
    'Logs time worked on a ticket, dated today. The entry is SUBMITTED: an administrator approves or rejects it before it becomes billable. The rate comes from the ticketing system.',
  input: strictObject({
    ticketId,
    minutes: fields.minutes,
    description: fields.description.meta({ description: 'The work that was done.' }),
    billable: fields.billable.meta({
      description: 'Whether the customer pays for the time. If you were not told, ask.',
    }),
    // Some clients send null for what is optional.
    userEmail: fields.userEmail.nullable().meta({
      description:
        'The email address of the technician who did the work. Leave it out unless you were told who it was.',
    }),
    idempotencyKey,
  }),
  write: async (ctx, target, { userEmail, ...body }) => {
    const outcome = await createTimeEntry(ctx, target, userEmail ? { ...body, userEmail } : body);
    const { id, minutes, billable, workDate, status, userId } = outcome.row;
    return {
      outcome,
      sentence: `Logged ${minutes} minutes on ticket ${target.ticketId}: time entry ${id}, dated ${workDate}, ${status} for approval`,
      facts: { status, minutes, billable: billable === 1, workDate, userId },
    };
  },
});
