import {
  explainServiceTimeEntry,
  explainTechnicianTimeEntry,
  insertServiceTimeEntry,
  insertTechnicianTimeEntry,
  type StoredTimeEntry,
} from '../../db/work/time-entries.ts';
import type { Principal } from '../../domain/principal.ts';
import type { TimeEntryRequest } from '../../domain/time-entry.ts';
import type { ActorContext } from '../context.ts';
import { type WriteOutcome, type WriteTarget, writeOnce } from './write-once.ts';

/**
 * Logs time on a ticket: SUBMITTED, dated today in the organization's time zone, at the rate of the
 * company's active agreement or the organization's default, credited to the named technician or the
 * service account.
 * @throws as `writeOnce`
 */
export function createTimeEntry(
  ctx: ActorContext<Principal>,
  target: WriteTarget,
  body: TimeEntryRequest,
): Promise<WriteOutcome<StoredTimeEntry>> {
  const { minutes, description, billable, userEmail } = body;
  return writeOnce(ctx, target, {
    kind: 'time_entry',
    body,
    text: description,
    minutes,
    insert: (values, day) => {
      const entry = { ...values, minutes, description, billable: Number(billable), workDate: day };
      return userEmail === undefined
        ? insertServiceTimeEntry.bind(entry)
        : insertTechnicianTimeEntry.bind({ ...entry, userEmail });
    },
    explain: (values) =>
      userEmail === undefined
        ? explainServiceTimeEntry.bind(values)
        : explainTechnicianTimeEntry.bind({ ...values, userEmail }),
  });
}
