import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { archive, archiveContext, everyChange, objectsIn, releaseAll } from '../../support/archive.ts';
import { countD1 } from '../../support/d1.ts';
import { failureOf, lastCursor, resultOf, work } from '../../support/rpc.ts';
import { makeOrganization, makeWorld, NOTE, rowsOf, TIME } from '../../support/world.ts';

const keyed = (idempotencyKey: string) => ({ 'Idempotency-Key': idempotencyKey });

/** The response without what belongs to the request only. */
async function seen(response: Promise<Response>) {
  const { status, headers } = await response;
  const names = ['Idempotency-Replayed', 'Idempotency-Mismatch'];
  return { status, headers: names.map((name) => headers.get(name)), body: await (await response).json() };
}

const rowsIn = async (table: string, organization: string): Promise<Record<string, unknown>[]> =>
  (await env.DB.prepare(`select * from ${table} where organization_id = ?`).bind(organization).all()).results;

test('an archived record is answered like any other replay', async () => {
  const { organization, key, api } = await makeWorld();
  const other = { message: 'Another text' };
  const requests = {
    note: () => seen(api.postNote(key, NOTE, keyed('n'))),
    entry: () => seen(api.postTime(key, TIME, keyed('e'))),
    credited: () =>
      seen(api.postTime(key, { ...TIME, billable: false, userEmail: 'tess@northwind.example' }, keyed('t'), '1002')),
    mismatch: () => seen(api.postNote(key, other, keyed('n'), '1002')),
    entryMismatch: () => seen(api.postTime(key, { ...TIME, minutes: 31 }, keyed('e'), '1003')),
  };
  for (const send of Object.values(requests)) await send();
  const entries = await rowsOf('time_entries', organization);
  for (const [index, { id }] of entries.entries())
    resultOf(await work.reviewTimeEntry(organization, String(id), index === 0 ? 'APPROVED' : 'REJECTED', 'ada'));
  const before = await Promise.all(Object.values(requests).map((send) => send()));
  expect(before.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);

  await api.postNote(key);
  await releaseAll(organization);
  expect(await archive(organization)).toMatchObject({ status: 'archived', fromSeq: 1, toSeq: 6 });
  expect([await rowsOf('notes', organization), await rowsOf('time_entries', organization)]).toMatchObject([[{}], []]);
  expect(await Promise.all(Object.values(requests).map((send) => send()))).toEqual(before);
  expect(await rowsOf('audit_log', organization)).toMatchObject([{ seq: 7 }]);
});

test('a note costs 3 rows written to archive, an entry as many, and a step one more', async () => {
  const counted = async (write: (world: Awaited<ReturnType<typeof makeWorld>>) => Promise<unknown>, times: number) => {
    const world = await makeWorld();
    for (let i = 0; i < times; i++) await write(world);
    await world.api.postNote(world.key);
    await releaseAll(world.organization);
    const { db, calls } = countD1(env.DB);
    expect(await archive(world.organization, { db })).toMatchObject({ status: 'archived' });
    return calls.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
  };
  const base = await counted(async () => undefined, 0);
  const note = (await counted(({ api, key }) => api.postNote(key), 10)) - base;
  console.log({ base, note });
});
