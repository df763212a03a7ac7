import { organizationRange } from '../../db/fact-statements.ts';
import { findReleases, markReleased, type ReleaseRow } from '../../db/work/releases.ts';
import { directoryId } from '../../domain/directory.ts';
import { lazyObject } from '../../domain/fields.ts';
import type { Released } from '../../domain/psa-shapes.ts';
import { readAll, write } from '../call-d1.ts';
import { parseInput } from '../parse-input.ts';
import type { ServiceContext } from '../service-context.ts';
import { cursorText, organizationNotFound, requireCursor } from './require-cursor.ts';

export type { ReleaseRow } from '../../db/work/releases.ts';

export const releaseRequest = lazyObject(() => ({
  organization: directoryId('an organization'),
  cursor: cursorText,
}));

/**
 * Records that the PSA has stored an organization's changes up to a cursor. Never goes back. Not a change itself: the PSA would also have to release it.
 * @throws ServiceError `invalid`, `organization_not_found`, `being_erased`, `cursor_reset`
 */
export async function releaseChanges(
  ctx: ServiceContext,
  request: { organization: string; cursor: string },
): Promise<Released> {
  const { organization: organizationId, cursor } = parseInput(releaseRequest, request);
  const changes = await write(ctx, 'safe_to_repeat', markReleased.bind({ organizationId, ...cursor }));
  if (changes > 0) return { status: 'released', seq: cursor.seq };
  await requireCursor(ctx, organizationId, cursor);
  const [released] = await listReleases(ctx, organizationId);
  return { status: 'unchanged', seq: released?.releasedSeq ?? 0 };
}

/** By organization, in the order of ids; all, or only one. @throws ServiceError `organization_not_found` */
export async function listReleases(ctx: ServiceContext, only?: string): Promise<ReleaseRow[]> {
  const rows = await readAll(ctx, findReleases.bind(organizationRange(only)));
  if (only !== undefined && rows.length === 0) throw organizationNotFound(only);
  return rows;
}
