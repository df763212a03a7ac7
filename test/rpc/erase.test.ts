import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { ERASED_TABLES } from '../../src/db/directory/erasure.ts';
import { allChanges, failureOf, lastCursor, resultOf, work } from '../support/rpc.ts';
import { importRecords, makeApi, makeKey, makeWorld } from '../support/world.ts';

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
  expect(ERASED_TABLES.toSorted()).toEqual([...Object.keys(tables), 'organizations'].toSorted());
});

test('the cursor of its last change erases an organization, and a record of the erasure remains', async () => {
  const { organization, key } = await makeBusyOrganization();
  const cursor = await lastCursor(organization);
  expect(await work.eraseOrganization(organization, cursor, 'Ada, by letter')).toEqual({
    ok: true,
    value: { auditRows: 3, more: false },
  });
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
    expect(failureOf(await work.eraseOrganization(organization, cursor, 'Ada'))).toEqual(['not_exported']);
  expect(await rowsByTable(organization)).toEqual(before);
});

test('a new organization with the same id has a new audit log, and the old cursor is an error', async () => {
  const { organization } = await makeWorld();
  const cursor = await lastCursor(organization);
  await work.eraseOrganization(organization, cursor, 'Ada');
  await importRecords(
    { type: 'organization', id: organization, name: 'Northwind', psa: true, timeZone: 'UTC', defaultHourlyRate: 120 },
    { type: 'user', organization, id: 'ada', email: 'ada@northwind.example', name: 'Ada', admin: true },
  );
  await makeKey(organization);
  expect(failureOf(await work.changes(organization, cursor))).toEqual(['cursor_reset']);
  expect(resultOf(await work.changes(organization, null)).changes).toMatchObject([{ seq: 1 }]);
});

test('other organizations keep everything, and their audit logs still cannot be changed', async () => {
  const [{ organization }, other] = [await makeBusyOrganization(), await makeBusyOrganization()];
  const before = await rowsByTable(other.organization);
  await work.eraseOrganization(organization, await lastCursor(organization), 'Ada');
  expect(await rowsByTable(other.organization)).toEqual(before);
  for (const sql of [
    'delete from audit_log where organization_id = ?1',
    'update audit_log set at = 0 where organization_id = ?1',
    'insert or replace into audit_log select * from audit_log where organization_id = ?1',
  ]) {
    await expect(env.DB.prepare(sql).bind(other.organization).run()).rejects.toThrow('audit_log');
  }
});
