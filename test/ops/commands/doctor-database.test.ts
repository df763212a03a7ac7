import { expect, test } from 'vitest';
import type { ObjectStore } from '../../../src/lib/object-store.ts';
import { diagnoseDatabase, type ExpectedDatabase } from '../../../src/ops/diagnose-database.ts';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { migrationNames } from '../../../src/ops/migrations.ts';
import { operatorContext } from '../../../src/ops/open-database.ts';
import { createApiKey } from '../../../src/services/keys/create-key.ts';
import { demoDatabase } from './database.ts';

/** Opens a database with the demo directory, and what the doctor finds in it. */
async function inDatabase(
  use: (
    db: D1Database,
    find: (changes?: Partial<ExpectedDatabase>, organization?: string) => Promise<[string, boolean, string][]>,
  ) => Promise<void>,
): Promise<void> {
  const { persistTo, remove } = await demoDatabase();
  const migrations = await migrationNames();
  await withLocalD1(persistTo, (db) =>
    use(db, async (changes, organization) => {
      const found: [string, boolean, string][] = [];
      for await (const { check, ok, says } of diagnoseDatabase(
        { db, limit: 10_000_000, migrations, ...changes },
        organization,
      ))
        found.push([check, ok, says]);
      return found;
    }),
  );
  await remove();
}
const failure = (check: string, says: RegExp) => [check, false, expect.stringMatching(says)];

test('the doctor finds a missing migration, and then checks nothing else of the database', () =>
  inDatabase(async (_, find) => {
    const migrations = [...(await migrationNames()), '0099_next_release.sql'];
    expect(await find({ migrations })).toEqual([failure('schema', /lacks 0099_next_release\.sql/)]);
  }));

test('the doctor finds a nearly full database', () =>
  inDatabase(async (db, find) => {
    const { meta } = await db.prepare('select 1').all();
    expect(await find({ limit: meta.size_after * 1.05 })).toContainEqual(failure('size', /nearly full: 95\.\d%/));
  }));

test('the doctor finds an erased organization that exists, unless its return is recorded', () =>
  inDatabase(async (db, find) => {
    const insert = "insert into organizations values ('globex', 'Globex', 1, 'UTC', 1, 1, 'settings')";
    const erase = [
      `insert into erasures (organization_id, request_id, erased_at, erased_by, last_seq, open, not_exported)
       values ('globex', '1', unixepoch() * 1000, 'FORGED', 0, 1, '[]')`,
      "delete from organizations where id = 'globex'",
      'update erasures set open = 0',
    ];
    for (const sql of [insert, ...erase, insert]) await db.prepare(sql).run();
    expect((await find()).at(-1)).toEqual(
      failure('erased organizations', /^globex: erased, and created again without a recorded return/),
    );
    await db.prepare("update erasures set recreated_at = unixepoch() * 1000, recreated_by = 'psa'").run();
    expect((await find()).at(-1)).toEqual(['erased organizations', true, 'created again on request: globex by psa']);
  }));

const refuses = () => Promise.reject(new Error('not expected'));
const NO_STORE: ObjectStore = { get: refuses, put: refuses, delete: refuses, list: refuses, maxDeleted: 1 };

test('the doctor reports an archive whose newest object is missing from the bucket, and a damaged archive', () =>
  inDatabase(async (db, find) => {
    const ctx = { ...operatorContext(db), actor: { organizationId: 'northwind', userId: 'ada' } };
    for (const name of ['n8n', 'Make']) await createApiKey(ctx, 'twb', { name, scopes: ['tickets:note:write'] });
    const run = (sql: string) => db.prepare(sql).bind('northwind').run();
    await run('insert into releases values (?1, 1)');
    await run(
      `insert into archives (organization_id, from_seq, to_seq, first_at, last_at, last_request_id, object, digest, bytes)
     select organization_id, 1, 1, at, at, request_id, 'northwind/1', '${'0'.repeat(64)}', 9 from audit_log where organization_id = ?1 and seq = 1`,
    );
    const archived = async (archive?: ObjectStore) => (await find({ archive }, 'northwind')).at(-1);
    const holding = (size: number) => {
      const objects = [{ name: 'northwind/1', size, storedAt: 0 }];
      return { ...NO_STORE, list: async () => ({ objects, more: false }) };
    };
    expect(await archived(holding(9))).toEqual(['archive', true, expect.stringMatching(/is in the bucket/)]);
    expect(await archived(holding(8))).toEqual(failure('archive', /lacks the newest object, northwind\/1/));
    expect(await archived()).toEqual(failure('archive', /no bucket with the binding ARCHIVE/));
    await run('update archives set damaged_at = 1 where organization_id = ?1');
    expect(await archived(holding(9))).toEqual(failure('archive', /1 object missing or damaged/));
  }));
