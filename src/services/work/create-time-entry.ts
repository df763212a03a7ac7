import {
  explainServiceTimeEntry,
  explainTechnicianTimeEntry,
  insertServiceTimeEntry,
  insertTechnicianTimeEntry,
  type TimeEntryRow,
} from '../../db/statements.ts';
import { dateIn } from '../../domain/calendar.ts';
import type { TimeEntryRequest } from '../../domain/time-entry.ts';
import type { ApiContext } from '../context.ts';
import { type WriteTarget, type Written, writeOnce } from './write-once.ts';

/**
 * Logs time on a ticket, with its audit row: SUBMITTED, dated today in the organization's time zone, at the rate of the company's active
 * agreement or the organization's own, credited to the named technician or else to the service account.
 * @throws Unauthorized, Refusal
 */
export function createTimeEntry(ctx: ApiContext, target: WriteTarget, body: TimeEntryRequest): Promise<Written<TimeEntryRow>> {
  const { db } = ctx;
  const { minutes, description, userEmail } = body;
  return writeOnce<TimeEntryRow>(
    ctx,
    { ...target, kind: 'time_entry', scope: 'tickets:time:write', body },
    {
      insert: (values, timeZone) => {
        const entry = {
          ...values,
          minutes,
          description,
          billable: Number(body.billable),
          timeZone,
          workDate: dateIn(timeZone, values.now),
        };
        return userEmail === undefined
          ? insertServiceTimeEntry.bind(db, entry)
          : insertTechnicianTimeEntry.bind(db, { ...entry, userEmail });
      },
      explain: (values) =>
        userEmail === undefined ? explainServiceTimeEntry.bind(db, values) : explainTechnicianTimeEntry.bind(db, { ...values, userEmail }),
    },
  );
}
