import { Hono } from 'hono';
import { fromMinorUnits } from '../../domain/money.ts';
import { RECORD_KINDS } from '../../domain/record-kinds.ts';
import { type TimeEntryResult, timeEntryRequest, timeEntryResult } from '../../domain/time-entry.ts';
import { createTimeEntry } from '../../services/work/create-time-entry.ts';
import { type AppEnv, writeContext } from '../context.ts';
import { guard } from '../middleware/guard.ts';
import { jsonBody } from '../middleware/json-body.ts';
import { answerWrite } from './answer-write.ts';
import { writeOperation } from './operation.ts';
import { writeTarget } from './write-target.ts';

const { path, scope } = RECORD_KINDS.time_entry;

/** POST /tickets/{ticketId}/time-entries: logs time. */
export const timeEntries = new Hono<AppEnv>().post(
  `/tickets/:ticketId/${path}`,
  ...guard(scope),
  ...jsonBody(timeEntryRequest),
  async (c) => {
    const outcome = await createTimeEntry(writeContext(c), writeTarget(c), c.req.valid('json'));
    const { id, minutes, workDate, status, billable, hourlyRateMinor, userId, agreementSource } = outcome.row;
    const entry: TimeEntryResult['entry'] = {
      id,
      minutes,
      workDate: `${workDate}T00:00:00.000Z`,
      status,
      billable: billable === 1,
      hourlyRate: fromMinorUnits(hourlyRateMinor),
      userId,
    };
    return answerWrite(c, outcome, { entry, agreementSource });
  },
);

const work = { minutes: 30, description: 'Cleared the print queue', billable: true };

export const createTimeEntryOperation = writeOperation({
  operationId: 'createTimeEntry',
  schemaName: 'TimeEntry',
  summary: 'Log time on a ticket',
  description: `Requires the scope \`${scope}\`. The entry is dated today in the organization's time zone (after midnight, a retry gets the next date), is SUBMITTED for approval, and takes its rate from the company's agreement or the organization's default.`,
  request: timeEntryRequest,
  requestExamples: {
    serviceAccount: { summary: 'Credited to the automation service account', value: work },
    technician: { summary: 'Credited to a technician', value: { ...work, userEmail: 'tess@northwind.example' } },
  },
  result: timeEntryResult,
  example: {
    entry: {
      id: '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6073',
      minutes: 30,
      workDate: '2026-11-21T00:00:00.000Z',
      status: 'SUBMITTED',
      billable: true,
      hourlyRate: 150,
      userId: 'automation',
    },
    agreementSource: 'company_default',
  },
  meaning: {
    created: 'The entry was created.',
    replayed: 'A replay: this Idempotency-Key already created the entry.',
  },
  problems: ['technician_not_eligible'],
});
