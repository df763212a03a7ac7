import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { ERASED_TABLES, tableName } from '../../../src/db/directory/erasure.ts';
import type { DirectoryRecordInput } from '../../../src/domain/directory.ts';
import { importDirectory } from '../../../src/ops/import/import-directory.ts';
import { upsertRecords } from '../../../src/services/directory/change-records.ts';
import { aroundD1 } from '../../support/d1.ts';
import { eraseOrganization } from '../../support/erase-organization.ts';
import { allChanges, directory, failureOf, lastCursor, resultOf, work } from '../../support/psa-calls.ts';
import { asOperator, makeApi, makeKey, makeWorld } from '../../support/world.ts';

/** The number of rows that an organization has in each table with a column organization_id. */
async function rowsByTable(organization: string): Promise<Record<string, number>> {
  const { results } = await env.DB.prepare(
    `select name from sqlite_master where type = 'table' and sql like '%organization\\_id%' escape '\\'`,
  ).all<{ name: string }>();
  const counts = await env.DB.batch<{ rows: number }>(
    results.map(({ name }) =>
      env.DB.prepare(`select count(*) as rows from ${name} where organization_id = ?`).bind(organization),
    ),
  );
  return Object.fromEntries(results.map(({ name }, index) => [name, counts[index]?.results[0]?.rows ?? -1]));
}

/** An organization with a key, a note and a time entry: three audit rows. */
async function makeBusyOrganization() {
  const { organization, key, api } = await makeWorld();
  await api.postNote(key);
  await api.postTime(key);
  return { organization, key };
}

test("an erasure deletes from every table of organizations, except for the erasure's record and the directory's time", async () => {
  const { erasures: _, directory_clock: __, ...tables } = await rowsByTable('nobody');
  expect(ERASED_TABLES.map(tableName).toSorted()).toEqual(Object.keys(tables).toSorted());
});

test('the cursor of its last change erases an organization, and a record of the erasure remains', async () => {
  const { organization, key } = await makeBusyOrganization();
  const cursor = await lastCursor(organization);
  await eraseOrganization(asOperator(), { organization, cursor, by: 'Ada, by letter' });
  const { erasures, directory_clock: clock, ...rest } = await rowsByTable(organization);
  expect([erasures, clock]).toEqual([1, 1]);
  expect(Object.values(rest).every((rows) => rows === 0)).toBe(true);
  const left = env.DB.prepare('select count(*) as n from organizations where id = ?').bind(organization);
  expect(await left.first('n')).toBe(0);
  const record = env.DB.prepare('select * from erasures where organization_id = ?').bind(organization);
  expect(await record.first()).toMatchObject({ erased_by: 'Ada, by letter', last_seq: 3, open: 0 });
  expect((await makeApi().postNote(key)).status).toBe(401);
  expect(failureOf(await work.changes(organization, cursor))).toEqual(['organization_not_found']);
});

test('an organization is not erased without the cursor of its last change', async () => {
  const { organization } = await makeBusyOrganization();
  const before = await rowsByTable(organization);
  const [first] = await allChanges(organization);
  for (const cursor of [null, first?.cursor ?? ''])
    await expect(eraseOrganization(asOperator(), { organization, cursor, by: 'Ada' })).rejects.toMatchObject({
      code: 'not_exported',
    });
  expect(await rowsByTable(organization)).toEqual(before);
});

/** What a feed sends of an organization. */
const directoryOf = (organization: string): DirectoryRecordInput[] => [
  { type: 'organization', id: organization, name: 'Northwind', psa: true, timeZone: 'UTC', defaultHourlyRate: 120 },
  { type: 'user', organization, id: 'ada', email: 'ada@northwind.example', name: 'Ada', admin: true },
];
const linesOf = (records: readonly object[]) => records.map((record) => JSON.stringify(record)).join('\n');

test('a directory feed does not bring an erased organization back, and only a recorded request creates it again, empty', async () => {
  const { organization, key } = await makeBusyOrganization();
  const cursor = await lastCursor(organization);
  await eraseOrganization(asOperator(), { organization, cursor, by: 'Ada' });
  const all = directoryOf(organization);
  const erasures = env.DB.prepare('select * from erasures where organization_id = ?').bind(organization);
  const isBack = async () => failureOf(await directory.list(organization, 'user', null)).length === 0;

  for (const records of [all, all.slice(1)])
    for (const allOrNothing of [true, false])
      expect(failureOf(await directory.upsert(organization, records, allOrNothing))).toEqual(['organization_erased']);
  expect(failureOf(await directory.deactivate(organization, [{ type: 'user', id: 'ada' }]))).toEqual([
    'organization_erased',
  ]);
  for (const dryRun of [true, false])
    await expect(importDirectory(env.DB, linesOf(all), { dryRun })).rejects.toMatchObject({
      code: 'organization_erased',
      detail: expect.stringContaining(`Organization ${organization} was erased`),
    });
  // Without a record of the organization itself, nothing returns.
  expect(resultOf(await directory.upsert(organization, all.slice(1), false, true)).written).toBe(false);
  expect([await isBack(), (await erasures.all()).results]).toMatchObject([false, [{ recreated_at: null }]]);

  const askedAt = Math.floor(Date.now() / 1000) * 1000;
  expect(resultOf(await directory.upsert(organization, all, false, true)).written).toBe(true);
  expect(resultOf(await directory.upsert(organization, all)).written).toBe(true);
  const [erasure] = (await erasures.all()).results;
  expect(erasure).toMatchObject({ erased_by: 'Ada', recreated_by: 'psa' });
  expect(Number(erasure?.['recreated_at'])).toBeGreaterThanOrEqual(askedAt);
  expect((await makeApi().postNote(key)).status).toBe(401);
  expect(resultOf(await work.changes(organization, null)).changes).toEqual([]);
  expect(failureOf(await work.changes(organization, cursor))).toEqual(['cursor_reset']);
  await makeKey(organization);
  expect(resultOf(await work.changes(organization, null)).changes).toMatchObject([{ seq: 1 }]);
  expect(failureOf(await work.changes(organization, cursor))).toEqual(['cursor_reset']);

  await eraseOrganization(asOperator(), { organization, cursor: await lastCursor(organization), by: 'Ada' });
  expect(failureOf(await directory.upsert(organization, all))).toEqual(['organization_erased']);
  expect(await importDirectory(env.DB, linesOf(all), { recreate: true })).toMatchObject({ ok: true });
  expect((await erasures.all()).results.map((row) => row['recreated_by']).toSorted()).toEqual(['operator', 'psa']);
});

test('an upsert that was checked before an erasure ended does not bring the organization back', async () => {
  for (const first of [0, 1]) {
    const { organization } = await makeWorld();
    const cursor = await lastCursor(organization);
    const db = aroundD1(env.DB, async (run, _, sql) => {
      if (sql.some((text) => text.includes('insert into directory_clock')))
        await eraseOrganization(asOperator(), { organization, cursor, by: 'Ada' });
      return run();
    });
    const upsert = upsertRecords(asOperator(db), { organization, records: directoryOf(organization).slice(first) });
    await expect(upsert).rejects.toMatchObject({ code: 'organization_erased' });
    expect(failureOf(await directory.list(organization, 'user', null))).toEqual(['organization_not_found']);
  }
});

test('other organizations keep everything, and their audit logs still cannot be changed', async () => {
  const [{ organization }, other] = [await makeBusyOrganization(), await makeBusyOrganization()];
  const before = await rowsByTable(other.organization);
  await eraseOrganization(asOperator(), { organization, cursor: await lastCursor(organization), by: 'Ada' });
  expect(await rowsByTable(other.organization)).toEqual(before);
  for (const sql of [
    'delete from audit_log where organization_id = ?1',
    'update audit_log set at = 0 where organization_id = ?1',
    'insert or replace into audit_log select * from audit_log where organization_id = ?1',
  ]) {
    await expect(env.DB.prepare(sql).bind(other.organization).run()).rejects.toThrow('audit_log');
  }
});
