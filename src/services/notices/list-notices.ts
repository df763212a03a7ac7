import { findWaitingNotices, type WaitingNotice } from '../../db/notices/notices.ts';
import { callD1 } from '../call-d1.ts';
import type { ServiceContext } from '../context.ts';

export type { WaitingNotice } from '../../db/notices/notices.ts';

/** How many notices are listed. */
export const MAX_LISTED_NOTICES = 500;

/**
 * The notices that wait to be sent, oldest first: of all organizations, or of one.
 * @throws ServiceError `unavailable`
 */
export async function listWaitingNotices(ctx: ServiceContext, organization?: string): Promise<WaitingNotice[]> {
  const values = { only: organization ?? null, limit: MAX_LISTED_NOTICES };
  return (await callD1(ctx, 'nothing_written', (db) => findWaitingNotices.bind(values).all(db))).results;
}
