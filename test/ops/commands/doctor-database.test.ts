import { expect, test } from 'vitest';
import { diagnoseDatabase, type ExpectedDatabase } from '../../../src/ops/diagnose-database.ts';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { migrationNames } from '../../../src/ops/migrations.ts';
import { operatorContext } from '../../../src/ops/open-database.ts';
import { demoDatabase } from './database.ts';

/** Opens a database with the demo directory, and what the doctor finds in it. */
async function inDatabase(
  use: (
    db: D1Database,
    find: (changes?: Partial<ExpectedDatabase>) => Promise<[string, boolean, string][]>,
  ) => Promise<void>,
): Promise<void> {
  const { persistTo, remove } = await demoDatabase();
  const migrations = await migrationNames();
  await withLocalD1(persistTo, (db) =>
    use(db, async (changes) => {
      const found: [string, boolean, string][] = [];
      for await (const { check, ok, says } of diagnoseDatabase({
        db,
        context: () => operatorContext(db),
        limit: 10_000_000,
        migrations,
        ...changes,
      }))
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
      `insert into erasures (organization_id, request_id, erased_at, erased_by, last_seq, open)
       values ('globex', '1', unixepoch() * 1000, 'FORGED', 0, 1)`,
      "delete from organizations where id = 'globex'",
      'update erasures set open = 0',
    ];
    for (const sql of [insert, ...erase, insert]) await db.prepare(sql).run();
    expect((await find()).at(-2)).toEqual(
      failure('erased organizations', /^globex: erased, and created again without a recorded return/),
    );
    await db.prepare("update erasures set recreated_at = unixepoch() * 1000, recreated_by = 'psa'").run();
    expect((await find()).at(-2)).toEqual(['erased organizations', true, 'created again on request: globex by psa']);
  }));

test('the doctor finds an adapter that fails, and one that is silent', () =>
  inDatabase(async (db, find) => {
    const adapters = async () => (await find()).at(-1);
    const report = (at: number, failure: string | null) =>
      db
        .prepare(
          "insert or replace into connections (organization_id, adapter_id, reported_at, failing_since, failure) values ('northwind', 'a', ?1, iif(?2 is null, null, ?1), ?2)",
        )
        .bind(at, failure)
        .run();
    expect(await adapters()).toEqual(['adapters', true, 'none has reported']);
    await report(Date.now(), null);
    expect(await adapters()).toEqual(['adapters', true, '1 adapter connected']);
    await report(Date.now(), 'The PSA refuses the key.');
    expect(await adapters()).toEqual(failure('adapters', /^northwind is failing since \d{4}-.*adapter:status\.$/));
    await report(Date.now() - 3_600_000, null);
    expect(await adapters()).toEqual(failure('adapters', /^northwind is silent since /));
  }));
