import { Hono } from 'hono';
import { fromMinorUnits } from '../../domain/money.ts';
import { RECORD_KINDS } from '../../domain/record-kinds.ts';
import type { TimeEntryResult } from '../../domain/response-shapes.ts';
import { timeEntryRequest } from '../../domain/time-entry.ts';
import { createTimeEntry } from '../../services/work/create-time-entry.ts';
import { type AppEnv, writeContext } from '../hono-env.ts';
import { guard } from '../middleware/guard.ts';
import { jsonBody } from '../middleware/json-body.ts';
import { respondToWrite, writeTarget } from './write.ts';

const { path, scope } = RECORD_KINDS.time_entry;

export const timeEntries = new Hono<AppEnv>().post(
  `/tickets/:ticketId/${path}`,
  ...guard(scope),
  ...jsonBody(timeEntryRequest),
  async (c) => {
    const target = writeTarget(c);
    const outcome = await createTimeEntry(writeContext(c), target, c.req.valid('json'));
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
    return respondToWrite(c, target, outcome, { entry, agreementSource });
  },
);
