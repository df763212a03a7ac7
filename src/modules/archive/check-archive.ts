import { type ArchiveRow, findArchivesAfter } from '../../db/work/archives.ts';
import { sha256 } from '../../lib/bytes.ts';
import { log } from '../../lib/log.ts';
import type { StoredObject } from '../../lib/object-store.ts';
import { readAll, readOne, write } from '../../services/call-d1.ts';
import type { Damage } from '../../services/service-context.ts';
import { listReleases } from '../../services/work/release-changes.ts';
import { findErased, markChecked } from './archive-statements.ts';
import { type ArchiveContext, callBucket, deleteObjects, listObjects } from './bucket.ts';
import { isSegment } from './compare-stubs.ts';
import { objectName, objectsOf, parseObjectName } from './object-names.ts';
import { corrected, deleteOthers, parseArchive, readSegment, replaceSegment } from './segment.ts';

// Compares archives with objects: daily by size, and when an operator asks.

/** What is wrong with an object, or was. `not named`: no archive has it. */
export interface ArchiveFinding {
  object: string;
  finding: Damage | 'replaced' | 'not named' | 'deleted';
}

interface CheckOptions {
  /** Whether every object is read. Otherwise only those with another size, and those that were damaged. */
  read: boolean;
  remove: boolean;
  /** Whether what is missing or damaged is repaired. The database and the bucket are not changed later. */
  repair: boolean;
  /** How many segments it may still read or clean up, in all calls with this object. */
  budget?: { segments: number };
}

const PAGE = 500;
/** No call that stored an object earlier than this can still be about to commit its name. */
const LONGEST_CALL_MS = 15 * 60_000;

/** The organizations with archives, and those with objects, the ones that were erased included. */
export async function archivedOrganizations(context: () => ArchiveContext): Promise<string[]> {
  const releases = await listReleases(context());
  const found = new Set(releases.filter(({ archivedSeq }) => archivedSeq > 0).map((release) => release.organizationId));
  for (let after: string | undefined; ; ) {
    const { objects, more } = await callBucket(context(), (bucket) => bucket.list('', after));
    const ids = objects.flatMap(({ name }) => parseObjectName(name)?.organization ?? []);
    for (const id of ids) found.add(id);
    if (!more) return [...found];
    const last = objects.at(-1)?.name ?? '';
    // The rest of an organization's objects is skipped: 0 is the character after the slash.
    after = ids.includes(last.split('/')[0] ?? '') ? `${last.split('/')[0]}0` : last;
  }
}

/** Also notes in the database which objects are damaged. `context` makes a context for each call. */
export async function checkArchives(
  context: () => ArchiveContext,
  organizationId: string,
  { read, remove, repair, budget = { segments: Number.POSITIVE_INFINITY } }: CheckOptions,
): Promise<{ checked: number; findings: ArchiveFinding[] }> {
  const listed = await listObjects(context(), objectsOf(organizationId));
  const segments = await segmentsOf(context, organizationId);
  const objects = Map.groupBy(listed, ({ name }) => parseObjectName(name)?.fromSeq);
  // Files that are not ours.
  objects.delete(undefined);
  const findings: ArchiveFinding[] = [];
  const found = (name: string, finding: ArchiveFinding['finding']) => findings.push({ object: name, finding });
  // Known damage comes last, so that it does not use up the budget of new damage.
  for (const segment of segments.toSorted((a, b) => Number(a.damagedAt !== null) - Number(b.damagedAt !== null))) {
    const { object, fromSeq, bytes, damagedAt } = segment;
    const all = objects.get(fromSeq) ?? [];
    objects.delete(fromSeq);
    const others = all.filter(({ name }) => name !== object);
    const isRead = read || damagedAt !== null || all.find(({ name }) => name === object)?.size !== bytes;
    if ((!isRead && others.length === 0) || budget.segments === 0) continue;
    budget.segments -= 1;
    const damage = isRead ? await checkSegment(context(), segment) : undefined;
    if (damage && repair && (await repairSegment(context(), segment, others))) found(object, 'replaced');
    else {
      if (damage) found(object, damage);
      // One of the others may be the only copy of what is damaged.
      const isLeft = damage || !remove || others.length === 0;
      const deleted = isLeft ? [] : await deleteOthers(context(), segment);
      for (const { name } of others) found(name, deleted.includes(name) ? 'deleted' : 'not named');
    }
  }
  // Orphans: no archive starts at this seq. A running step may own the ones after the last archive. Those of
  // an unknown organization may belong to another database. Keep both.
  const youngest = context().now() - LONGEST_CALL_MS;
  const isOver = repair || (await readOne(context(), findErased.bind({ organizationId }))) !== null;
  const end = isOver ? Number.MAX_SAFE_INTEGER : (segments.at(-1)?.toSeq ?? 0);
  const orphans = [...objects].flatMap(([fromSeq = 0, all]) => all.map((object) => ({ ...object, fromSeq })));
  const deleted = new Set(orphans.filter(({ storedAt, fromSeq }) => remove && storedAt < youngest && fromSeq <= end));
  await deleteObjects(context(), [...deleted]);
  for (const orphan of orphans) found(orphan.name, deleted.has(orphan) ? 'deleted' : 'not named');
  return { checked: segments.length, findings };
}

async function segmentsOf(context: () => ArchiveContext, organizationId: string): Promise<ArchiveRow[]> {
  const segments: ArchiveRow[] = [];
  for (;;) {
    const seq = segments.at(-1)?.toSeq ?? 0;
    const page = await readAll(context(), findArchivesAfter.bind({ organizationId, seq, limit: PAGE }));
    segments.push(...page);
    if (page.length < PAGE) return segments;
  }
}

/** Reads the object of a segment, and notes whether it is the one that was stored. */
async function checkSegment(ctx: ArchiveContext, segment: ArchiveRow): Promise<Damage | undefined> {
  const read = await readSegment(ctx, segment);
  if ('changes' in read && segment.damagedAt !== null) {
    // The object reappeared and still contains texts that were redacted while it was missing.
    await replaceSegment(ctx, segment, read.changes);
    return undefined;
  }
  const damage = 'damage' in read ? read.damage : undefined;
  const mark = markChecked.bind({ ...segment, isDamaged: damage ? 1 : 0, now: ctx.now() });
  // Updates no row if another call replaced the object; the one we read is then deleted.
  if ((await write(ctx, 'safe_to_repeat', mark)) === 0 || !damage) return undefined;
  logDamage(segment, damage);
  return damage;
}

export const logDamage = ({ organizationId, object }: ArchiveRow, damage: Damage) =>
  log('error', 'archive_damaged', { organization: organizationId, object, damage });

/**
 * The only way to repair a segment: the newest of the other objects that agrees with the database is stored again,
 * without what is redacted. So it does not matter whether the database or the bucket is older. Returns
 * false if there is none.
 */
async function repairSegment(
  ctx: ArchiveContext,
  segment: ArchiveRow,
  others: readonly StoredObject[],
): Promise<boolean> {
  const { organizationId, fromSeq, toSeq } = segment;
  for (const { name } of others.toSorted((a, b) => b.storedAt - a.storedAt)) {
    const bytes = await callBucket(ctx, (bucket) => bucket.get(name));
    if (!bytes) continue;
    const digest = (await sha256(bytes)).toHex();
    if (name !== objectName(organizationId, fromSeq, toSeq, digest)) continue;
    const changes = await parseArchive(bytes, name);
    if (changes.at(-1)?.requestId !== segment.lastRequestId) continue;
    if (!(await isSegment(ctx, segment, changes))) continue;
    return replaceSegment(ctx, segment, await corrected(ctx, organizationId, changes));
  }
  return false;
}
