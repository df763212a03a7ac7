import * as z from 'zod';
import { type ArchiveRow, findArchivesAfter } from '../../db/work/archives.ts';
import { findRedacted } from '../../db/work/record-statements.ts';
import { plain, REDACTED } from '../../domain/change.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS } from '../../domain/record-kinds.ts';
import { parseStored } from '../../domain/stored-json.ts';
import { sha256 } from '../../lib/bytes.ts';
import { fromKeys } from '../../lib/objects.ts';
import { readBatch, readOne, write } from '../../services/call-d1.ts';
import type { Damage, ReadLines } from '../../services/service-context.ts';
import { claimSegment, findReleased, replaceObject } from './archive-statements.ts';
import { type ArchiveContext, callBucket, deleteObjects, listObjects } from './bucket.ts';
import { gunzip, gzip } from './gzip.ts';
import { objectName, objectsFrom } from './object-names.ts';

// A segment is a range of an organization's changes that is one object in the bucket: gzip of lines of
// JSON. The object's name ends with its digest, and the segment's row in `archives` contains this name.

const KINDS = Object.values(RECORD_KINDS);
/** The fields of a line that contain records. */
export const RECORD_FIELDS = KINDS.map(({ changeField }) => changeField);
/** A line: a `Change`. It has all fields, so that they stay in their order, but only checks what is used. */
const archivedChange = z.lazy(() => {
  const anything = z.unknown().optional();
  return z.looseObject({
    cursor: anything,
    seq: z.int(),
    at: anything,
    action: z.string(),
    actor: anything,
    targetId: z.string(),
    ticketId: anything,
    requestId: z.string(),
    idempotencyKey: anything,
    detail: anything,
    ...fromKeys(RECORD_FIELDS, () => z.looseObject({ id: z.string() }).nullable()),
  });
});
export type ArchivedChange = z.output<typeof archivedChange>;

/** @throws DamagedData */
export async function parseArchive(bytes: Uint8Array<ArrayBuffer>, object: string): Promise<ArchivedChange[]> {
  const lines = (await gunzip(bytes)).split('\n').filter((line) => line !== '');
  return lines.map((line, index) => parseStored(archivedChange, line, `line ${index + 1} of ${object}`));
}

const toLines = (changes: readonly object[]) => changes.map((change) => `${JSON.stringify(change)}\n`).join('');

/**
 * The changes of a segment, without the texts of redacted records, if its object is the one that was stored.
 * @throws ServiceError `unavailable`
 */
export async function readSegment(
  ctx: ArchiveContext,
  { organizationId, object, digest }: Pick<ArchiveRow, 'organizationId' | 'object' | 'digest'>,
): Promise<{ changes: ArchivedChange[] } | { damage: Damage }> {
  const bytes = await callBucket(ctx, (bucket) => bucket.get(object));
  if (!bytes) return { damage: 'missing' };
  if ((await sha256(bytes)).toHex() !== digest) return { damage: 'damaged' };
  return { changes: await corrected(ctx, organizationId, await parseArchive(bytes, object)) };
}

/** The same as lines of JSON. @throws ServiceError `unavailable` */
export async function readLines(
  ctx: ArchiveContext,
  segment: Pick<ArchiveRow, 'organizationId' | 'object' | 'digest' | 'fromSeq'>,
): Promise<ReadLines> {
  const read = await readSegment(ctx, segment);
  if ('changes' in read) return { lines: toLines(read.changes) };
  // A redaction or a repair may have replaced the object since its row was read.
  const current = await segmentFrom(ctx, segment);
  if (current && current.object !== segment.object) return readLines(ctx, current);
  return { ...read, isKnown: (current?.damagedAt ?? null) !== null };
}

/** Changes without the texts of redacted records. */
export async function corrected(
  ctx: ArchiveContext,
  organizationId: string,
  changes: readonly ArchivedChange[],
): Promise<ArchivedChange[]> {
  const statements = RECORD_KIND_NAMES.map((kind) => {
    const ids = changes.flatMap((change) => change[RECORD_KINDS[kind].changeField]?.id ?? []);
    return findRedacted[kind].bind({ organizationId, ids: JSON.stringify(ids) });
  });
  const redacted = await readBatch(ctx, statements, 'safe_to_repeat');
  return withoutTexts(
    changes,
    redacted.flat().map(({ id }) => id),
  );
}

export function withoutTexts(changes: readonly ArchivedChange[], redacted: readonly string[]): ArchivedChange[] {
  const ids = new Set(redacted);
  return changes.map((change) => {
    const copy = { ...change };
    for (const { changeField, textField } of KINDS) {
      const record = change[changeField];
      if (record && ids.has(record.id)) copy[changeField] = { ...record, [textField]: plain(REDACTED) };
    }
    return copy;
  });
}

type StoredFile = Pick<ArchiveRow, 'object' | 'digest' | 'bytes'>;

/**
 * The only way to store a segment: its changes become an object, `commit` stores its name in one transaction that
 * compares the previous state, and the other objects of the segment are deleted. Returns the result of
 * `commit`: whether the object is the current one. If not, the daily job deletes it.
 * @throws ServiceError `unavailable`: the same call can be repeated
 */
export async function storeSegment(
  ctx: ArchiveContext,
  { organizationId, fromSeq, toSeq }: Pick<ArchiveRow, 'organizationId' | 'fromSeq' | 'toSeq'>,
  changes: readonly object[],
  commit: (file: StoredFile) => Promise<boolean>,
): Promise<boolean> {
  const bytes = await gzip(toLines(changes));
  const digest = (await sha256(bytes)).toHex();
  const object = objectName(organizationId, fromSeq, toSeq, digest);
  // List first: an object stored after this point may become the current one.
  const others = await listObjects(ctx, objectsFrom(organizationId, fromSeq));
  await callBucket(ctx, (bucket) => bucket.put(object, bytes, digest));
  if (await commit({ object, digest, bytes: bytes.length })) {
    await deleteObjects(ctx, others, object);
    return true;
  }
  // An erasure that has removed this row may have listed the objects before ours was there.
  if (!(await readOne(ctx, findReleased.bind({ organizationId })))) await deleteObjects(ctx, [{ name: object }]);
  return false;
}

/** Stores a segment again. Returns false if another call has replaced its object. */
export function replaceSegment(ctx: ArchiveContext, segment: ArchiveRow, changes: readonly object[]): Promise<boolean> {
  return storeSegment(ctx, segment, changes, async (file) => {
    await write(ctx, 'safe_to_repeat', replaceObject.bind({ ...segment, ...file }));
    const current = await segmentFrom(ctx, segment);
    return current?.object === file.object && current.revision === segment.revision + 1;
  });
}

export const segmentFrom = (
  ctx: ArchiveContext,
  { organizationId, fromSeq }: Pick<ArchiveRow, 'organizationId' | 'fromSeq'>,
) => readOne(ctx, findArchivesAfter.bind({ organizationId, seq: fromSeq - 1, limit: 1 }), 'safe_to_repeat');

/**
 * Deletes the other objects of a segment and returns their names. Does nothing if the current object is
 * missing: another one may then be its only copy.
 */
export async function deleteOthers(ctx: ArchiveContext, segment: ArchiveRow): Promise<string[]> {
  const { object, bytes } = segment;
  const listed = await listObjects(ctx, objectsFrom(segment.organizationId, segment.fromSeq));
  const others = listed.filter(({ name }) => name !== object);
  if (others.length === 0 || !listed.some(({ name, size }) => name === object && size === bytes)) return [];
  // A call that has stored one of them, and is about to commit its name, finds another revision.
  if ((await write(ctx, 'safe_to_repeat', claimSegment.bind(segment))) === 0) return [];
  await deleteObjects(ctx, others);
  return others.map(({ name }) => name);
}
