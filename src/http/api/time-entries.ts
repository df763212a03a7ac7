import { Hono } from 'hono';
import { fromMinorUnits } from '../../domain/money.ts';
import { type TimeEntryCreated, timeEntryRequest } from '../../domain/time-entry.ts';
import type { AppEnv } from '../../env.ts';
import { createTimeEntry } from '../../services/work/create-time-entry.ts';
import { guard } from '../guard.ts';
import { apiContext } from '../service-context.ts';
import { jsonBody, writeTarget } from '../validate.ts';
import { answerWritten } from './answer-write.ts';

/** POST /tickets/{ticketId}/time-entries: logs time. */
export const timeEntries = new Hono<AppEnv>().post(
  '/tickets/:ticketId/time-entries',
  ...guard('tickets:time:write'),
  ...jsonBody(timeEntryRequest),
  async (c) => {
    const written = await createTimeEntry(apiContext(c), writeTarget(c), c.req.valid('json'));
    const { id, minutes, workDate, status, billable, hourlyRateMinor, userId, agreementSource } = written.row;
    const entry: TimeEntryCreated['entry'] = {
      id,
      minutes,
      workDate: `${workDate}T00:00:00.000Z`,
      status,
      billable: billable === 1,
      hourlyRate: fromMinorUnits(hourlyRateMinor),
      userId,
    };
    return answerWritten(c, written, { entry, agreementSource });
  },
);
