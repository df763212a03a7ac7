import { forgetNotices } from '../../db/notices/notices.ts';
import { DAY_MS } from '../../domain/calendar.ts';
import { callD1 } from '../call-d1.ts';
import type { ServiceContext } from '../context.ts';

/** How long a notice is kept, and how long it waits at most. */
export const NOTICE_RETENTION_DAYS = 30;

/**
 * Deletes the notices of more than 30 days ago. Run once a day.
 * @throws ServiceError `unavailable`
 */
export async function forgetOldNotices(ctx: ServiceContext): Promise<void> {
  const before = ctx.now() - NOTICE_RETENTION_DAYS * DAY_MS;
  await callD1(ctx, 'safe_to_repeat', (db) => forgetNotices.bind({ before }).all(db));
}
