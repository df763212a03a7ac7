import { parseCursor } from '../../domain/change.ts';
import type { Change, ChangesPage } from '../../domain/psa-shapes.ts';
import { write } from '../../services/call-d1.ts';
import type { ServiceContext } from '../../services/service-context.ts';
import { listChanges, MAX_CHANGES } from '../../services/work/list-changes.ts';
import { type SavedPush, savePush } from './push-statements.ts';
import { NEW_PAGE_BYTES, REPEATED_PAGE_BYTES } from './rules.ts';

export interface PushPosition {
  organization: string;
  /** The cursor of the last change that was confirmed or skipped; null for none. */
  cursor: string | null;
  /** The last `seq` of the page that was sent before and not confirmed; null if there is none. */
  pageEnd: number | null;
  /** How many changes a page may have, since one was too large for the receiver. Missing: the largest. */
  limit?: number;
}

/** A page of the feed that is not empty ends with this change. */
export type PushPage = ChangesPage & { last: Change | undefined };

/** A page that was sent before keeps its range, so that the receiver gets it under the same id. */
export async function nextPage(
  ctx: ServiceContext,
  { organization, cursor, pageEnd, limit = MAX_CHANGES }: PushPosition,
): Promise<PushPage> {
  const wanted = pageEnd === null ? limit : pageEnd - seqOf(cursor);
  const maxBytes = pageEnd === null ? NEW_PAGE_BYTES : REPEATED_PAGE_BYTES;
  const page = await listChanges(ctx, { organization, cursor, limit: wanted }, maxBytes);
  return { ...page, last: page.changes.at(-1) };
}

/** The `seq` of a cursor; 0 for null. */
export function seqOf(cursor: string | null): number {
  return cursor === null ? 0 : (parseCursor(cursor)?.seq ?? 0);
}

export async function savePushState(ctx: ServiceContext, organizationId: string, state: SavedPush): Promise<void> {
  await write(ctx, 'safe_to_repeat', savePush.bind({ organizationId, ...state }));
}
