import { env } from 'cloudflare:workers';
import type { Change } from '../../../src/domain/change.ts';
import type { ChangesPage } from '../../../src/domain/psa-shapes.ts';
import { timeOrderedId } from '../../../src/domain/record-id.ts';
import { type ObjectStore, objectStore } from '../../../src/lib/object-store.ts';
import { type ArchiveStep, archiveStep } from '../../../src/modules/archive/archive-step.ts';
import { archivedRecordsIn } from '../../../src/modules/archive/archived-records.ts';
import type { ArchiveContext } from '../../../src/modules/archive/bucket.ts';
import { readLines } from '../../../src/modules/archive/segment.ts';
import type { SystemContext } from '../../../src/services/service-context.ts';
import { aroundD1 } from '../../support/d1.ts';
import { lastCursor, resultOf, work } from '../../support/rpc.ts';

/** The bucket of the tests. */
export const bucket = objectStore(env.ARCHIVE);

/** The context of a step, with other bindings if they are given. */
export const archiveContext = ({ db = env.DB, archive = bucket }: { db?: D1Database; archive?: ObjectStore } = {}) =>
  ({
    db,
    archive,
    archivedRecords: archivedRecordsIn(archive),
    now: Date.now,
    deadlineAt: Date.now() + 20_000,
    requestId: timeOrderedId(Date.now()),
    actor: 'operator',
    source: { address: null, userAgent: 'operator' },
  }) satisfies SystemContext & ArchiveContext;

/** Everything that is released is due, also what was written just now. */
export const AT_ONCE = { before: Number.MAX_SAFE_INTEGER, isPushed: false };

/** Makes one step of the archive. */
export const archive = (organization: string, bindings?: Parameters<typeof archiveContext>[0]): Promise<ArchiveStep> =>
  archiveStep(archiveContext(bindings), organization, AT_ONCE);

/** Releases everything that there is, as a PSA that has read it all. */
export async function releaseAll(organization: string): Promise<number> {
  const cursor = await lastCursor(organization);
  return resultOf(await work.release(organization, cursor ?? '')).seq;
}

/**
 * Every change of an organization: those in the archive, after their digests were compared, and the
 * others. `damaged`: the numbers of those in a damaged object, which is an error unless it is expected.
 */
export async function everyChange(
  organization: string,
  expected?: 'except damaged',
): Promise<{ archived: Change[]; rows: Change[]; damaged: number[] }> {
  const archived: Change[] = [];
  const rows: Change[] = [];
  const damaged: number[] = [];
  let cursor: string | null = null;
  for (;;) {
    const page: ChangesPage = resultOf(await work.changes(organization, cursor));
    for (const object of page.archives) {
      const changes = await changesOf(organization, object);
      if (changes) archived.push(...changes);
      else if (expected) for (let { fromSeq } = object; fromSeq <= object.toSeq; fromSeq++) damaged.push(fromSeq);
      else throw new Error(`${object.object} is damaged`);
    }
    rows.push(...page.changes);
    ({ cursor } = page);
    if (!page.more) return { archived, rows, damaged };
  }
}

/** The changes in an object of the archive; undefined if it is missing or damaged. */
async function changesOf(
  organization: string,
  object: { object: string; digest: string; fromSeq: number },
): Promise<Change[] | undefined> {
  const read = await readLines(archiveContext(), { organizationId: organization, ...object });
  if ('damage' in read) return undefined;
  const lines = read.lines.split('\n').slice(0, -1);
  return lines.map((line): Change => JSON.parse(line));
}

/** The names of all objects of an organization. */
export async function objectsIn(organization: string): Promise<string[]> {
  const { objects } = await env.ARCHIVE.list({ prefix: `${organization}/` });
  return objects.map(({ key }) => key);
}

/** A bucket whose calls fail as `fails` says: before they are carried out, or after. */
export function failing(fails: (call: BucketCall) => 'before' | 'after' | undefined): ObjectStore {
  const around = async <T>(call: BucketCall, run: () => Promise<T>): Promise<T> => {
    const when = fails(call);
    if (when === 'before') throw new Error('R2 is away');
    const result = await run();
    if (when === 'after') throw new Error('R2 is away');
    return result;
  };
  return {
    ...bucket,
    get: (name) => around('get', () => bucket.get(name)),
    put: (name, bytes, digest) => around('put', () => bucket.put(name, bytes, digest)),
    delete: (names) => around('delete', () => bucket.delete(names)),
    list: (prefix, after) => around('list', () => bucket.list(prefix, after)),
  };
}

/** A database whose transactions about an archive fail. */
const failingBatch = (when: 'before' | 'after') =>
  aroundD1(env.DB, async (run, _, sql) => {
    if (!sql.some((text) => /(insert into|update) archives/.test(text))) return run();
    if (when === 'after') await run();
    throw new Error('D1_ERROR: internal error; reference = 0a1b2c3d4e5f');
  });

type BucketCall = 'get' | 'put' | 'delete' | 'list';
const failingAt = (call: BucketCall, when: 'before' | 'after' = 'before') => ({
  archive: failing((one) => (one === call ? when : undefined)),
});

/** The ways in which a step or a redaction can end early. */
export const STOPS = {
  none: {},
  'before get': failingAt('get'),
  'before list': failingAt('list'),
  'before put': failingAt('put'),
  'after put': failingAt('put', 'after'),
  'before batch': { db: failingBatch('before') },
  'after batch': { db: failingBatch('after') },
  'before delete': failingAt('delete'),
};
