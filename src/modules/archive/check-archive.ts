import { type ArchiveRow, findArchivesAfter } from '../../db/work/archives.ts';
import { ServiceError } from '../../domain/errors.ts';
import { sha256, toHex } from '../../lib/bytes.ts';
import { gunzip } from '../../lib/gzip.ts';
import type { StoredObject } from '../../lib/object-store.ts';
import { readAll, readOne, write } from '../../services/call-d1.ts';
import { listReleases } from '../../services/work/release-changes.ts';
import { parseArchive, readArchive } from './archive-file.ts';
import { findArchiveOfObject, replaceObject } from './archive-statements.ts';
import { type ArchiveContext, callBucket, deleteObjects, listObjects } from './bucket.ts';
import { objectName, objectsFrom, objectsOf, parseObjectName } from './object-names.ts';

// What an operator does with the archive. After a restore of the database, it and the bucket may
// disagree: the bucket is not restored with it.

/**
 * The lines of the archive that has this object, as one text.
 * @throws ServiceError `record_not_found` if none has it
 */
export async function readNamedArchive(ctx: ArchiveContext, object: string): Promise<string> {
  const organizationId = parseObjectName(object)?.organization ?? '';
  const found = await readOne(ctx, findArchiveOfObject.bind({ organizationId, object }));
  if (found) return readArchive(ctx, found);
  throw new ServiceError(
    'record_not_found',
    'No archive has an object of this name. A redaction stores the object again, under another name.',
  );
}

/** What is wrong with an object, or was. `not named`: no archive has it. */
interface Finding {
  object: string;
  finding: 'missing' | 'replaced' | 'not named' | 'deleted';
}

/** How many archives one call to D1 reads. */
const PAGE = 500;

/**
 * Compares the archives with the objects in the bucket. With `repair`, a missing object is replaced by
 * the one that was stored last for the same entries, and objects that no archive has are deleted,
 * unless they are so young that a call may be about to name them. `context` makes one for each call.
 * @throws ServiceError `organization_not_found`
 */
export async function checkArchive(
  context: () => ArchiveContext,
  { organization, repair }: { organization: string | undefined; repair: boolean },
): Promise<{ checked: number; findings: Finding[] }> {
  const releases = await listReleases(context(), organization);
  const objects = await listObjects(context(), organization === undefined ? '' : objectsOf(organization));
  const ours = objects.filter(({ name }) => parseObjectName(name));
  const unnamed = new Map(ours.map((object) => [object.name, object]));
  const findings: Finding[] = [];
  let checked = 0;
  for (const { organizationId } of releases) {
    for await (const archive of archivesOf(context, organizationId)) {
      checked += 1;
      // One that is not in the list may have been stored after it was read.
      if (unnamed.delete(archive.object) || (await exists(context(), archive.object))) continue;
      const replacement = repair ? await replace(context(), organizationId, archive, [...unnamed.values()]) : undefined;
      if (replacement !== undefined) unnamed.delete(replacement);
      findings.push({ object: archive.object, finding: replacement === undefined ? 'missing' : 'replaced' });
    }
  }
  const youngest = context().now() - LONGEST_CALL_MS;
  const deletable = [...unnamed.values()].filter(({ storedAt }) => repair && storedAt < youngest);
  await deleteObjects(context(), deletable);
  for (const object of unnamed.values())
    findings.push({ object: object.name, finding: deletable.includes(object) ? 'deleted' : 'not named' });
  return { checked, findings };
}

async function* archivesOf(context: () => ArchiveContext, organizationId: string): AsyncGenerator<ArchiveRow> {
  for (let seq = 0; ; ) {
    const results = await readAll(context(), findArchivesAfter.bind({ organizationId, seq, limit: PAGE }));
    yield* results;
    const last = results.at(-1);
    if (!last || results.length < PAGE) return;
    seq = last.toSeq;
  }
}

/** No call that stored an object earlier than this can still be about to name it in the database. */
const LONGEST_CALL_MS = 15 * 60_000;

const exists = async (ctx: ArchiveContext, name: string) =>
  (await callBucket(ctx, (bucket) => bucket.get(name))) !== undefined;

/** Names another object of the same entries in the database; returns its name, if there is one. */
async function replace(
  ctx: ArchiveContext,
  organizationId: string,
  archive: ArchiveRow,
  objects: readonly StoredObject[],
): Promise<string | undefined> {
  const { fromSeq, toSeq } = archive;
  const latest = objects
    .filter(({ name }) => name.startsWith(objectsFrom(organizationId, fromSeq)))
    .sort((a, b) => b.storedAt - a.storedAt);
  for (const { name } of latest) {
    const bytes = await callBucket(ctx, (bucket) => bucket.get(name));
    if (!bytes) continue;
    const digest = toHex(await sha256(bytes));
    if (name !== objectName(organizationId, fromSeq, toSeq, digest)) continue;
    if (parseArchive(await gunzip(bytes)).at(-1)?.requestId !== archive.lastRequestId) continue;
    const values = { organizationId, toSeq, from: archive.object, object: name, digest, bytes: bytes.length };
    await write(ctx, 'safe_to_repeat', replaceObject.bind(values));
    return name;
  }
  return undefined;
}
