import { forgetDays } from '../../db/work/key-days.ts';
import { addDays, dateIn } from '../../domain/calendar.ts';
import { DAILY_LIMITS, runInChunks } from '../in-chunks.ts';
import type { ServiceContext } from '../service-context.ts';

/** How long the daily ledger is kept at least: 13 months, so that a month can be compared with a year ago. */
export const LEDGER_RETENTION_DAYS = 400;

/** Removes old days from the ledger, once a day. Returns whether none is left to remove. */
export function forgetOldDays(ctx: ServiceContext, limits = DAILY_LIMITS): Promise<boolean> {
  const before = addDays(dateIn('UTC', ctx.now()), -LEDGER_RETENTION_DAYS);
  return runInChunks(ctx, limits, (limit) => forgetDays.bind({ before, limit }));
}
