import { findCursorPosition } from '../../db/work/changes.ts';
import { readAll, readOne } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/context.ts';
import { requireValidCursor } from '../../services/work/list-changes.ts';
import { findWaitingNotices, type WaitingNotice } from './alert-statements.ts';

export type { WaitingNotice } from './alert-statements.ts';

/** How many notices are listed. */
export const MAX_LISTED_NOTICES = 500;

/**
 * The notices that wait to be sent, oldest first: of all organizations, or of one.
 * @throws ServiceError `organization_not_found`, `being_erased`
 */
export async function listWaitingNotices(ctx: ServiceContext, organization?: string): Promise<WaitingNotice[]> {
  const values = { only: organization ?? null, limit: MAX_LISTED_NOTICES };
  const results = await readAll(ctx, findWaitingNotices.bind(values));
  // A typing error must not look like good news.
  if (results.length === 0 && organization !== undefined) {
    const start = { organizationId: organization, seq: 0 };
    const found = await readOne(ctx, findCursorPosition.bind(start));
    requireValidCursor(found ?? undefined, organization, null);
  }
  return results;
}
