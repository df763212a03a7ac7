import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { DAY_MS, dateIn } from '../../src/domain/calendar.ts';
import { parseKeepDays } from '../../src/domain/retention.ts';
import { deleteOld } from '../../src/services/delete-old.ts';
import { beginErasure, eraseRows } from '../../src/services/directory/erase-organization.ts';
import { listChanges } from '../../src/services/work/list-changes.ts';
import { decideEntries, redactRecord, reportRecord } from '../../src/services/work/record-services.ts';
import { fakeHalo } from '../adapters/fake-halo.ts';
import { enter, MINUTE_MS, makeReadyWorld, notesOf, proveTime, time, timesOf } from '../adapters/world.ts';
import { aroundD1 } from '../support/d1.ts';
import { makeSettings } from '../support/settings.ts';
import { asOperator, makeApi, makeKey, makeOrganization, TIME } from '../support/world.ts';

/** Longer than anything that other tests wrote in this database is old, so that a run deletes what these tests made only. */
const KEEP_DAYS = 20_000;
const NOW = Date.now();
/** Everything that is written at this time is older than the retention. */
const OLD = NOW - (KEEP_DAYS + 10) * DAY_MS;
const LIMITS = { rows: 2, chunks: 100 };

const run = (db: D1Database = env.DB, isPushed = false, limits = LIMITS) =>
  deleteOld(asOperator(db), { keepDays: KEEP_DAYS, isPushed }, limits);

/** An organization with a key and four notes from long ago (audit rows 1 to 5), and one note from today (6). */
async function makeOldWorld({ approvals = 'psa' } = {}) {
  const organization = await makeOrganization();
  await env.DB.prepare('update organizations set approvals = ? where id = ?').bind(approvals, organization).run();
  const { value: key, id: keyId } = await makeKey(organization, {}, () => OLD);
  const api = makeApi({ now: () => OLD });
  for (const name of ['a', 'b', 'c', 'd']) await note(api, key, name);
  const today = makeApi();
  await note(today, key, 'today');
  return { organization, key, keyId, old: api, today };
}

async function note(api: ReturnType<typeof makeApi>, key: string, name: string): Promise<number> {
  return (await api.postNote(key, { message: `Note ${name}` }, { 'Idempotency-Key': `event:${name}` })).status;
}

async function logTime({ old, key }: Awaited<ReturnType<typeof makeOldWorld>>): Promise<string> {
  const answer = await old.postTime(key, TIME);
  return (await answer.json<{ entry: { id: string } }>()).entry.id;
}

const forgetAdapter = (organization: string) =>
  env.DB.prepare('delete from connections where organization_id = ?').bind(organization).run();

async function stateOf(organization: string) {
  const count = (table: string) =>
    env.DB.prepare(`select count(*) as n from ${table} where organization_id = ?1`).bind(organization);
  const [position, rows, notes, entries] = await env.DB.batch<{ n: number | null }>([
    env.DB.prepare('select max(to_seq) as n from deletions where organization_id = ?1').bind(organization),
    env.DB.prepare('select min(seq) as n from audit_log where organization_id = ?1').bind(organization),
    count('notes'),
    count('time_entries'),
  ]);
  const of = (result: D1Result<{ n: number | null }> | undefined) => result?.results[0]?.n ?? 0;
  return { deletedTo: of(position), firstRow: of(rows), notes: of(notes), entries: of(entries) };
}

test('Old audit rows are deleted with their records and refusals, and the newest row and its record stay', async () => {
  const { organization } = await makeOldWorld();
  const [refused] = (
    await env.DB.prepare('select id from notes where organization_id = ? order by audit_seq')
      .bind(organization)
      .all<{ id: string }>()
  ).results;
  const report = {
    organization,
    kind: 'note' as const,
    id: refused?.id ?? '',
    result: 'refused' as const,
    reason: 'Closed',
  };
  await reportRecord(asOperator(), report);
  expect(await run()).toBe(true);
  expect(await stateOf(organization)).toEqual({ deletedTo: 5, firstRow: 6, notes: 1, entries: 0 });
  expect(
    await env.DB.prepare('select 1 from psa_refusals where organization_id = ?').bind(organization).first(),
  ).toBeNull();
});

test('A run that dies between two transactions is continued by the next one', async () => {
  const { organization } = await makeOldWorld();
  for (let calls = 1; calls < 30; calls++) {
    let left = calls;
    const dying = aroundD1(env.DB, (call) => (left-- > 0 ? call() : Promise.reject(new Error('killed'))));
    await run(dying).catch(() => undefined);
    const { firstRow, notes } = await stateOf(organization);
    // A record exists as long as its audit row.
    expect(notes).toBe(Math.min(5, 7 - firstRow));
    const { changes } = await listChanges(asOperator(), { organization, cursor: null });
    expect(changes[0]?.seq).toBe(firstRow);
  }
  expect(await stateOf(organization)).toMatchObject({ deletedTo: 5, firstRow: 6, notes: 1 });
});

test('An organization of which nothing is left to delete takes nothing of a run from others', async () => {
  const organizations = [];
  for (let made = 0; made < 3; made++) organizations.push((await makeOldWorld()).organization);
  let isDone = false;
  for (let runs = 0; runs < 100 && !isDone; runs++) isDone = await run(env.DB, false, { rows: 500, chunks: 1 });
  for (const organization of organizations)
    expect(await stateOf(organization)).toMatchObject({ deletedTo: 5, notes: 1 });
});

test('No adapter writes anything into the PSA again between two transactions, without its storage or from an old cursor', async () => {
  const world = await makeReadyWorld(fakeHalo, {}, OLD);
  const { organization } = world;
  await proveTime(world);
  await world.write(501, { message: 'Note' });
  await world.write(502, time('Time'));
  await world.pass(MINUTE_MS);
  const { id } = await world.write(503, time('By hand'));
  const operator = () => asOperator(env.DB, world.clock);
  const refused = { organization, kind: 'time_entry', id, result: 'refused' } as const;
  await reportRecord(operator(), { ...refused, reason: 'Closed' });
  expect(await enter(world, id)).toBe(true);
  await redactRecord(operator(), { organization, kind: 'time_entry', id, by: 'Test' });
  await world.pass(MINUTE_MS);
  const oldCursor = (await listChanges(operator(), { organization, cursor: null, limit: 1 })).cursor;
  world.suspend(NOW - world.clock());
  // The one row about this entry that is younger than the retention does not say that it was entered by hand.
  await reportRecord(operator(), { ...refused, reason: 'The text is there' });
  await world.write(504, { message: 'Today' });
  await world.pass(MINUTE_MS);
  const inPsa = () => [...notesOf(world).map(([, text]) => text), ...timesOf(world)];
  expect(inPsa()).toEqual(['Note', 'Today', 'Time']);

  const left = new Set<number>();
  // The first run only moves the position, and each of the others deletes one row.
  for (let runs = 0, isDone = false; !isDone; runs++) {
    isDone = await run(env.DB, false, { rows: 1, chunks: Math.min(runs, 1) });
    left.add((await stateOf(organization)).entries);
    for (const name of ['one', `without storage ${runs}`]) {
      await forgetAdapter(organization);
      world.objectName = name;
      if (name === 'one') await world.read((kv) => kv.put('cursor', oldCursor));
      await world.pass(2 * MINUTE_MS);
      expect(inPsa()).toEqual(['Note', 'Today', 'Time']);
      expect(await world.waiting()).toBe(0);
    }
  }
  expect([...left]).toEqual([2, 1, 0]);
});

test('The feed continues after the deletion: the cursor at its position is valid, an earlier one is not, and null begins with the oldest row', async () => {
  const { organization } = await makeOldWorld();
  const before = await listChanges(asOperator(), { organization, cursor: null });
  await run();
  const cursorOf = (seq: number) => before.changes.find((change) => change.seq === seq)?.cursor ?? null;
  const seqs = async (cursor: string | null) =>
    (await listChanges(asOperator(), { organization, cursor })).changes.map(({ seq }) => seq);
  expect(await seqs(null)).toEqual([6]);
  expect(await seqs(cursorOf(5))).toEqual([6]);
  expect(await seqs(cursorOf(6))).toEqual([]);
  await expect(seqs(cursorOf(4))).rejects.toMatchObject({ code: 'cursor_reset' });
});

test('The Idempotency-Key of a deleted record writes it again under the same id, and a kept one is replayed', async () => {
  const { organization, key, today } = await makeOldWorld();
  const idOf = async (name: string) => {
    const answer = await today.postNote(key, { message: `Note ${name}` }, { 'Idempotency-Key': `event:${name}` });
    return [answer.status, (await answer.json<{ note: { id: string } }>()).note.id] as const;
  };
  const [, id] = await idOf('a');
  await run();
  expect(await idOf('a')).toEqual([201, id]);
  expect((await idOf('today'))[0]).toBe(200);
  expect((await stateOf(organization)).notes).toBe(2);
});

test('A time entry that waits for the settings area stays, and one that was decided lately until its decision is old', async () => {
  const organization = await makeOrganization();
  const { value: key } = await makeKey(organization, {}, () => OLD);
  const old = makeApi({ now: () => OLD });
  await note(old, key, 'a');
  const world = { organization, key, keyId: '', old, today: makeApi() };
  const entry = await logTime(world);
  await note(old, key, 'b');
  const source = { address: null, userAgent: null };
  const reviewer = { organizationId: organization, actor: { type: 'user' as const, id: 'ada' }, source };
  expect(await stateOf(organization)).toMatchObject({ notes: 2, entries: 1 });
  await run();
  // The entry waits at row 3.
  expect(await stateOf(organization)).toMatchObject({ deletedTo: 2, firstRow: 3, entries: 1 });
  await decideEntries(asOperator(), reviewer, 'settings', [entry], 'APPROVED');
  await run();
  expect(await stateOf(organization)).toMatchObject({ deletedTo: 2, firstRow: 3, entries: 1 });
  const insert =
    'insert into deletions (organization_id, to_seq) values (?, 3) on conflict do update set to_seq = excluded.to_seq';
  await expect(env.DB.prepare(insert).bind(organization).run()).rejects.toThrow('deletions: only old rows');
});

test('Old entries are deleted although at every time one waited for its decision', async () => {
  const { organization, get } = await makeSettings();
  const { value: key } = await makeKey(organization, {}, () => OLD);
  const reviewer = {
    organizationId: organization,
    actor: { type: 'user' as const, id: 'ada' },
    source: { address: null, userAgent: null },
  };
  let waiting = '';
  for (let day = 0; day < 6; day++) {
    const now = () => OLD + day * DAY_MS;
    const entry = await logTime({ organization, key, keyId: '', old: makeApi({ now }), today: makeApi() });
    const decide = { ...asOperator(), now };
    if (waiting) await decideEntries(decide, reviewer, 'settings', [waiting], 'APPROVED');
    waiting = entry;
  }
  await decideEntries(asOperator(), reviewer, 'settings', [waiting], 'APPROVED');
  // The key is row 1, the entries are rows 2, 3, 5, 7, 9 and 11, each decided by the row after the next entry.
  const confirm = 'insert into pushes (organization_id, confirmed_seq, attempts) values (?, 5, 0)';
  await env.DB.prepare(confirm).bind(organization).run();
  await run(env.DB, true);
  // The push has not confirmed the decision about row 3, which is row 6.
  expect(await stateOf(organization)).toMatchObject({ deletedTo: 2, firstRow: 3 });
  await run();
  // Only the last entry was decided lately.
  expect(await stateOf(organization)).toMatchObject({ deletedTo: 10, firstRow: 11, entries: 1 });
  const { changes } = await listChanges(asOperator(), { organization, cursor: null });
  expect(changes.map(({ seq, timeEntry }) => [seq, timeEntry?.status])).toEqual([
    [11, 'APPROVED'],
    [12, undefined],
    [13, 'APPROVED'],
  ]);
  const audit = await get('/audit');
  expect([audit.status, audit.text]).toEqual([200, expect.stringContaining('approved')]);
});

test('A time entry that waits for a PSA stays while the directory says that the settings area decides', async () => {
  const organization = await makeOrganization({ approvals: 'psa' });
  const { value: key } = await makeKey(organization, {}, () => OLD);
  const old = makeApi({ now: () => OLD });
  await note(old, key, 'a');
  await logTime({ organization, key, keyId: '', old, today: makeApi() });
  await note(old, key, 'b');
  const setApprovals = (approvals: string) =>
    env.DB.prepare('update organizations set approvals = ? where id = ?').bind(approvals, organization).run();
  await setApprovals('settings');
  await run();
  // The entry waits at row 3.
  expect(await stateOf(organization)).toMatchObject({ deletedTo: 2, firstRow: 3, entries: 1 });
  const move = env.DB.prepare('update deletions set to_seq = 3 where organization_id = ?').bind(organization);
  await expect(move.run()).rejects.toThrow('deletions: only old rows');
  await setApprovals('psa');
  await run();
  expect(await stateOf(organization)).toMatchObject({ deletedTo: 3, firstRow: 4, entries: 0 });
});

test('Days of the ledger are deleted after 400 days, except the latest of each key', async () => {
  const organization = await makeOrganization();
  const { value: key, id: keyId } = await makeKey(organization, {}, () => OLD);
  const { value: idle, id: idleId } = await makeKey(organization, {}, () => OLD);
  const old = makeApi({ now: () => OLD });
  await note(old, key, 'old');
  await note(old, idle, 'idle');
  await note(makeApi(), key, 'today');
  const dayBefore = (days: number) => dateIn('UTC', NOW - days * DAY_MS);
  const copy = `insert into key_days select organization_id, chain_id, ?2, key_id, notes, time_entries, minutes, bytes, last_at,
    last_address from key_days where organization_id = ?1 and day = ?3`;
  for (const age of [399, 401]) await env.DB.prepare(copy).bind(organization, dayBefore(age), dayBefore(0)).run();
  await run();
  const rows = await env.DB.prepare('select key_id, day from key_days where organization_id = ? order by day')
    .bind(organization)
    .all();
  expect(rows.results).toEqual([
    { key_id: idleId, day: dateIn('UTC', OLD) },
    { key_id: keyId, day: dayBefore(399) },
    { key_id: keyId, day: dayBefore(0) },
  ]);
});

test('A day of the ledger stays as long as an audit row of that day', async () => {
  const organization = await makeOrganization();
  const { value: key } = await makeKey(organization, {}, () => OLD);
  const old = makeApi({ now: () => OLD });
  await note(old, key, 'a');
  await logTime({ organization, key, keyId: '', old, today: makeApi() });
  await note(makeApi(), key, 'today');
  const days = async () =>
    (await env.DB.prepare('select day from key_days where organization_id = ? order by day').bind(organization).all())
      .results;
  const both = [{ day: dateIn('UTC', OLD) }, { day: dateIn('UTC', NOW) }];
  expect(await days()).toEqual(both);
  await run();
  // The entry waits at row 3.
  expect(await stateOf(organization)).toMatchObject({ deletedTo: 2, firstRow: 3 });
  expect(await days()).toEqual(both);
});

test('A redaction keeps its record until it is old', async () => {
  const { organization } = await makeOldWorld();
  const { changes } = await listChanges(asOperator(), { organization, cursor: null });
  const [, , second] = changes;
  await redactRecord(asOperator(), { organization, kind: 'note', id: second?.targetId ?? '', by: 'Test' });
  await run();
  expect(await stateOf(organization)).toMatchObject({ deletedTo: 2, firstRow: 3, notes: 4 });
});

test.each([
  [
    'the push has not confirmed them',
    'insert into pushes (organization_id, confirmed_seq, attempts) values (?, 2, 0)',
    true,
    2,
  ],
  [
    'their adapter fails',
    "insert into connections (organization_id, adapter_id, reported_at, failing_since, failure) values (?, 'a', unixepoch() * 1000, 1, 'HTTP 500')",
    false,
    0,
  ],
  [
    'their adapter is silent',
    "insert into connections (organization_id, adapter_id, reported_at) values (?, 'a', 1)",
    false,
    0,
  ],
])('Rows stay where %s', async (_, sql, isPushed, deletedTo) => {
  const { organization } = await makeOldWorld();
  await env.DB.prepare(sql).bind(organization).run();
  await run(env.DB, isPushed);
  expect((await stateOf(organization)).deletedTo).toBe(deletedTo);
});

test('Triggers keep what is younger than 180 days, and the position does not go back', async () => {
  const { organization } = await makeOldWorld();
  const set = (seq: number) =>
    env.DB.prepare(
      'insert into deletions (organization_id, to_seq) values (?1, ?2) on conflict do update set to_seq = ?2',
    )
      .bind(organization, seq)
      .run();
  await expect(set(6)).rejects.toThrow('deletions: only old rows');
  await set(4);
  await expect(set(3)).rejects.toThrow('deletions: only old rows');
  const remove = (sql: string) => env.DB.prepare(sql).bind(organization).run();
  await expect(remove('delete from audit_log where organization_id = ? and seq = 5')).rejects.toThrow('append-only');
  await expect(remove('delete from notes where organization_id = ? and audit_seq = 5')).rejects.toThrow('kept');
  await expect(remove('delete from deletions where organization_id = ?')).rejects.toThrow('deletions are kept');
});

test('An erasure beside a deletion removes the position, too', async () => {
  const { organization } = await makeOldWorld();
  await run();
  const { cursor } = await listChanges(asOperator(), { organization, cursor: null });
  const erasure = await beginErasure(asOperator(), { organization, cursor, by: 'Test' });
  await run();
  for await (const _ of eraseRows(asOperator(), erasure)) await run();
  expect(await stateOf(organization)).toEqual({ deletedTo: 0, firstRow: 0, notes: 0, entries: 0 });
});

test('KEEP_DAYS is empty or at least 180', () => {
  expect(['', '180', ' 400 '].map(parseKeepDays)).toEqual([undefined, 180, 400]);
  for (const text of ['179', '0', '-1', '1e3', 'a year']) expect(() => parseKeepDays(text)).toThrow(/180 or more/);
});
