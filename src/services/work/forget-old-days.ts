import { forgetDays } from '../../db/work/key-days.ts';
import { addDays, dateIn } from '../../domain/calendar.ts';
import { callD1 } from '../call-d1.ts';
import type { ServiceContext } from '../context.ts';

/** How long the daily ledger is kept: 13 months, so that a month can be compared with a year ago. */
export const LEDGER_RETENTION_DAYS = 400;
/** Rows in one statement, and statements in one run. The next run continues. */
const CHUNK = 1_000;
const MAX_CHUNKS = 100;

/**
 * Removes days from the ledger after their retention time. Run once a day.
 * @throws ServiceError `unavailable`
 */
export async function forgetOldDays(ctx: ServiceContext): Promise<void> {
  const before = addDays(dateIn('UTC', ctx.now()), -LEDGER_RETENTION_DAYS);
  for (let chunk = 0; chunk < MAX_CHUNKS; chunk++) {
    const { meta } = await callD1(ctx, 'safe_to_repeat', (db) => forgetDays.bind({ before, limit: CHUNK }).all(db));
    if (meta.changes < CHUNK) return;
  }
}
