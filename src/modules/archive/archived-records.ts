import { ServiceError } from '../../domain/errors.ts';
import type { ObjectStore } from '../../lib/object-store.ts';
import { readOne } from '../../services/call-d1.ts';
import type { ArchivedRecords } from '../../services/service-context.ts';
import { findNewestArchive } from './archive-statements.ts';
import { type ArchiveContext, callBucket, deleteObjects, listObjects } from './bucket.ts';
import { objectsOf } from './object-names.ts';
import { redactArchived } from './redact-archived.ts';
import { readLines } from './segment.ts';

/** The port of the archive in a bucket. */
export const archivedRecordsIn = (archive: ObjectStore): ArchivedRecords => ({
  read: (ctx, organizationId, object) => readLines({ ...ctx, archive }, { organizationId, ...object }),
  redact: (ctx, record) => redactArchived({ ...ctx, archive }, record),
  requireErasable: (ctx, organizationId, without) => requireErasable({ ...ctx, archive }, organizationId, without),
  erase: (ctx, organizationId, limit) => eraseObjects({ ...ctx, archive }, organizationId, limit),
});

/**
 * The bucket must have the newest object, so that an erasure does not end with another bucket. A bucket
 * is called even if nothing is archived: the erasure also removes unreferenced objects.
 */
async function requireErasable(ctx: ArchiveContext, organizationId: string, without: readonly string[]): Promise<void> {
  const newest = await readOne(ctx, findNewestArchive.bind({ organizationId, without: JSON.stringify(without) }));
  const { objects } = await callBucket(ctx, (bucket) => bucket.list(newest?.object ?? objectsOf(organizationId)));
  if (!newest || objects.some(({ name }) => name === newest.object)) return;
  throw new ServiceError(
    'not_exported',
    `The bucket of this deployment does not have the object ${newest.object} of the archive. If it is lost, erase without it.`,
  );
}

/** Also deletes objects without a row. Returns their number. The rows stay until no object is left. */
async function eraseObjects(ctx: ArchiveContext, organizationId: string, limit: number): Promise<number> {
  const objects = (await listObjects(ctx, objectsOf(organizationId))).slice(0, limit);
  await deleteObjects(ctx, objects);
  return objects.length;
}
