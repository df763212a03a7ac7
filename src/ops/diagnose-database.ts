import { setTimeout } from 'node:timers/promises';
import type { ObjectStore } from '../lib/object-store.ts';
import { count, percent } from './output.ts';
import { check, Failure, type Finding } from './probe.ts';

export interface ExpectedDatabase {
  db: D1Database;
  archive?: ObjectStore | undefined;
  /** The size in bytes at which it is full. */
  limit: number;
  migrations: readonly string[];
}

/** From this share of its limit on, the database is nearly full. */
const MAX_DATABASE_SHARE = 0.9;
/** How long the push may take to deliver the note. */
const PUSH_MS = 5_000;

/** Without an `organization`, neither push nor archive. */
export async function* diagnoseDatabase(
  { db, archive, limit, migrations }: ExpectedDatabase,
  organization: string | undefined,
): AsyncGenerator<Finding> {
  const schema = await check('schema', async () => {
    const { results } = await db.prepare('select name from d1_migrations').all<{ name: string }>();
    const applied = new Set(results.map(({ name }) => name));
    const missing = migrations.filter((name) => !applied.has(name));
    if (missing.length === 0) return `has all ${migrations.length} migrations`;
    throw new Failure(`the database lacks ${missing.join(', ')}. Migrate it: npm run deploy -- --migrate`);
  });
  yield schema;
  if (!schema.ok) return;
  yield await check('size', async () => {
    const { meta } = await db.prepare('select 1').all();
    const share = meta.size_after / limit;
    if (share < MAX_DATABASE_SHARE) return `${percent(share)} of the limit`;
    throw new Failure(
      `the database is nearly full: ${percent(share)} of DATABASE_LIMIT. See the runbook, "D1 is full".`,
    );
  });
  yield await check('erased organizations', () => returned(db));
  if (organization === undefined) return;
  yield await check('push', () => pushed(db, organization));
  yield await check('archive', () => archived(db, archive, organization));
}

/** The erased organizations that exist. If no return is recorded, SQL has inserted the organization. */
async function returned(db: D1Database): Promise<string> {
  const { results } = await db
    .prepare(
      `select id, iif(max(recreated_at is null), null, max(recreated_by)) as by
       from organizations join erasures on organization_id = id where open = 0 group by id`,
    )
    .all<{ id: string; by: string | null }>();
  const forged = results.flatMap(({ id, by }) => (by === null ? id : []));
  if (forged.length > 0)
    throw new Failure(
      `${forged.join(', ')}: erased, and created again without a recorded return. A holder of the database's credentials did this, and may have forged the audit log. Revoke these credentials, and compare the organization with its export.`,
    );
  if (results.length === 0) return 'none exists';
  return `created again on request: ${results.map(({ id, by }) => `${id} by ${by}`).join(', ')}`;
}

async function pushed(db: D1Database, organization: string): Promise<string> {
  const find = db
    .prepare(
      `select pushes.confirmed_seq as confirmed, failing_since as failing, stopped_at as stopped, failure,
         (select max(seq) from audit_log where audit_log.organization_id = pushes.organization_id) as newest
       from pushes where organization_id = ?`,
    )
    .bind(organization);
  for (const until = Date.now() + PUSH_MS; ; await setTimeout(200)) {
    const row = await find.first<{
      confirmed: number;
      failing: number | null;
      stopped: number | null;
      failure: string | null;
      newest: number;
    }>();
    if (!row) return 'off: nothing was ever pushed for this organization';
    if (row.stopped !== null) throw new Failure('the receiver has stopped the push with 410. See push:status.');
    if (row.failing !== null)
      throw new Failure(`the push has been failing since ${new Date(row.failing).toISOString()}: ${row.failure}.`);
    if (row.confirmed >= row.newest) return `the receiver has everything up to change ${row.newest}`;
    if (Date.now() > until)
      throw new Failure(`${row.newest - row.confirmed} changes wait for ${PUSH_MS / 1000} s. See push:status.`);
  }
}

async function archived(db: D1Database, archive: ObjectStore | undefined, organization: string): Promise<string> {
  const damaged = await db
    .prepare('select count(*) as n from archives where damaged_at is not null')
    .first<number>('n');
  if (damaged) throw new Failure(`${count(damaged, 'object')} missing or damaged. See the runbook, and archive:check.`);
  const newest = await db
    .prepare('select object, bytes from archives where organization_id = ? order by to_seq desc limit 1')
    .bind(organization)
    .first<{ object: string; bytes: number }>();
  if (!newest) return 'nothing of this organization is archived';
  if (!archive)
    throw new Failure('something is archived, and the configuration has no bucket with the binding ARCHIVE.');
  const { objects } = await archive.list(newest.object);
  if (objects.some(({ name, size }) => name === newest.object && size === newest.bytes))
    return 'the newest object is in the bucket; archive:check --read checks them all';
  throw new Failure(
    `the bucket lacks the newest object, ${newest.object}: it may be the wrong bucket. See archive:check.`,
  );
}
