import * as z from 'zod';
import { DAY_MS } from '../../src/domain/calendar.ts';
import type { Change } from '../../src/domain/change.ts';
import { objectStore } from '../../src/lib/object-store.ts';
import { archiveStep } from '../../src/modules/archive/archive-step.ts';
import type { ArchiveContext } from '../../src/modules/archive/bucket.ts';
import { readLines } from '../../src/modules/archive/part.ts';
import type { ServiceContext } from '../../src/services/service-context.ts';
import { listChanges } from '../../src/services/work/list-changes.ts';
import { releaseChanges } from '../../src/services/work/release-changes.ts';
import { countD1, type D1Call } from '../support/d1.ts';
import { type Acknowledged, context, Growth, growthPlan, send } from './growth.ts';

// Runs a simulation next to its database, because a call through a proxy takes twenty times longer.
// /begin makes the keys, /month simulates the next month, and /check looks for what was written.

interface GrowthEnv {
  DB: D1Database;
  ARCHIVE: R2Bucket;
}

const simulation = z.object({ plan: growthPlan, keepDays: z.int().nullable() });

/** Of so many writes, one is repeated at the end. */
const REPEATED = 25;

let growth: Growth | undefined;
const archiveCalls: D1Call[] = [];

export default {
  async fetch(request: Request, env: GrowthEnv): Promise<Response> {
    const { plan, keepDays } = simulation.parse(await request.json());
    growth ??= await Growth.begin(env.DB, plan);
    const { pathname } = new URL(request.url);
    if (pathname === '/check') return Response.json(await check(growth, env));
    if (pathname === '/month') {
      await growth.runMonth();
      if (keepDays !== null) await releaseAndArchive(env, growth, keepDays);
    }
    return Response.json(await growth.state());
  },
};

const withArchive = (ctx: ServiceContext, { ARCHIVE }: GrowthEnv): ArchiveContext => ({
  ...ctx,
  archive: objectStore(ARCHIVE),
});

/** The PSA releases what it has read, and the job archives what is old enough. */
async function releaseAndArchive(env: GrowthEnv, { now, readTo }: Growth, keepDays: number): Promise<void> {
  const { db, calls } = countD1(env.DB);
  const ctx = () => withArchive(context(db, now), env);
  const rule = { before: now - keepDays * DAY_MS, isPushed: false };
  for (const { organization, cursor } of readTo) {
    if (cursor !== null) await releaseChanges(ctx(), { organization, cursor });
    while ((await archiveStep(ctx(), organization, rule)).status === 'archived');
  }
  archiveCalls.push(...calls);
}

/** Reads all changes from the beginning as a new PSA, and repeats some of the writes. */
async function check({ acknowledged, now }: Growth, env: GrowthEnv) {
  const ctx = () => withArchive(context(env.DB, now), env);
  const written = new Map(acknowledged.map((write) => [write.id, write]));
  const found = new Map<string, { created: number; places: Set<string> }>();
  let archiveBytes = 0;
  let objects = 0;
  /** `place`: the name of an object, or `rows`. */
  const collect = (changes: readonly Change[], place: string) => {
    for (const { action, targetId, note, timeEntry } of changes) {
      const seen = found.get(targetId) ?? { created: 0, places: new Set<string>() };
      if (action === 'note.created' || action === 'time_entry.created') seen.created += 1;
      const text = (note?.message ?? timeEntry?.description)?.text;
      if (text !== undefined && text === written.get(targetId)?.text) seen.places.add(place);
      found.set(targetId, seen);
    }
  };
  for (const organization of new Set(acknowledged.map(({ principal }) => principal.organizationId))) {
    let cursor: string | null = null;
    for (let more = true; more; ) {
      const page = await listChanges(ctx(), { organization, cursor });
      collect(page.changes, 'rows');
      for (const archive of page.archives) {
        const read = await readLines(ctx(), organization, archive);
        if ('damage' in read) throw new Error(`${archive.object} is ${read.damage}`);
        const lines = read.lines.split('\n').slice(0, -1);
        collect(
          lines.map((line): Change => JSON.parse(line)),
          archive.object,
        );
        archiveBytes += archive.bytes;
        objects += 1;
      }
      ({ cursor, more } = page);
    }
  }
  /** Whether it was created once, and its text is in one place: in the rows, or in one object. */
  const isThere = ({ id }: Acknowledged) => found.get(id)?.created === 1 && found.get(id)?.places.size === 1;
  const isArchived = ({ id }: Acknowledged) => found.get(id)?.places.has('rows') === false;

  const repeated = acknowledged.filter((_, index) => index % REPEATED === 0);
  let right = 0;
  for (const write of repeated) {
    const { replayed, mismatch, response } = await send(ctx(), write);
    if (replayed && !mismatch && response === write.response) right += 1;
  }
  return {
    inFeed: acknowledged.filter(isThere).length,
    archivedWrites: acknowledged.filter(isArchived).length,
    archiveRowsWritten: archiveCalls.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0),
    archiveBytes,
    objects,
    replays: { sent: repeated.length, right, ofArchived: repeated.filter(isArchived).length },
  };
}
