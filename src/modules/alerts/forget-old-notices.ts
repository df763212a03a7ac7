import { DAY_MS } from '../../domain/calendar.ts';
import type { ServiceContext } from '../../services/context.ts';
import { DAILY_LIMITS, runInChunks } from '../../services/in-chunks.ts';
import { forgetNotices } from './alert-statements.ts';

/** How long a notice is kept, and how long it waits at most. */
export const NOTICE_RETENTION_DAYS = 30;

/**
 * Deletes the notices of more than 30 days ago. Run once a day. Returns whether none is left to
 * delete; the next run continues.
 */
export function forgetOldNotices(ctx: ServiceContext, limits = DAILY_LIMITS): Promise<boolean> {
  const before = ctx.now() - NOTICE_RETENTION_DAYS * DAY_MS;
  return runInChunks(ctx, limits, (limit) => forgetNotices.bind({ before, limit }));
}
