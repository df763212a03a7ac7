import { findArchivesAfter } from '../../db/work/archives.ts';
import { readOne } from '../../services/call-d1.ts';
import { type ArchiveContext, callBucket, deleteObjects, listObjects } from './bucket.ts';
import { objectsOf } from './object-names.ts';

/**
 * Makes sure that the archive of an organization can be reached before the organization is erased. A
 * bucket is called even if nothing is archived: the erasure also removes objects that nothing names.
 */
export async function requireErasableArchive(ctx: ArchiveContext, organizationId: string): Promise<void> {
  const values = { organizationId, seq: 0, limit: 1 };
  const first = await readOne(ctx, findArchivesAfter.bind(values));
  if (first || ctx.archive) await callBucket(ctx, (bucket) => bucket.list(objectsOf(organizationId)));
}

/**
 * Deletes at most `limit` objects of an organization's archive, those that nothing names included.
 * Returns how many. The rows that name them are still in the database: they say that there are objects.
 */
export async function eraseObjects(ctx: ArchiveContext, organizationId: string, limit: number): Promise<number> {
  if (!ctx.archive) {
    await requireErasableArchive(ctx, organizationId);
    return 0;
  }
  const objects = (await listObjects(ctx, objectsOf(organizationId))).slice(0, limit);
  await deleteObjects(ctx, objects);
  return objects.length;
}
