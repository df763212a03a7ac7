import { env } from 'cloudflare:workers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { MAX_EXAMINED, MAX_ORGANIZATIONS } from '../../../src/modules/alerts/make-notices.ts';
import { MAX_MESSAGES } from '../../../src/modules/alerts/send-notices.ts';
import published from '../../bench/README.md?raw';
import { countD1 } from '../../support/d1.ts';
import { insertKeys } from '../../support/many-keys.ts';
import { forgetNotices, runNotices, startAddresses } from '../../support/notices.ts';
import { makeKey } from '../../support/world.ts';

// What a run of the notices reads and writes, and that it continues where the last one ended.

const START = Date.parse('2027-03-01T08:00:00Z');
const RUN_MS = 300_000;
let addresses: ReturnType<typeof startAddresses>;
let now = START;

beforeAll(() => {
  addresses = startAddresses();
});
afterAll(() => addresses.stop());
beforeEach(async () => {
  now = START;
  addresses.reset();
  await forgetNotices();
});

/** So many organizations with these ids, each with an administrator and an audit row of long ago. */
async function makeOrganizations(prefix: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}-${String(index).padStart(4, '0')}`);
  const insert = (sql: string) => env.DB.prepare(`${sql} from json_each(?)`).bind(JSON.stringify(ids));
  await env.DB.batch([
    insert("insert into organizations select value, value, 1, 'UTC', 0, 1"),
    insert("insert into users select value, 'max', 'max@' || value || '.example', 'Max', 1, 0, 0, 1"),
    insert("insert into users select value, 'ivan', 'ivan@' || value || '.example', 'Ivan', 0, 0, 0, 0"),
    insert("insert into users select value, 'ada', 'ada@' || value || '.example', 'Ada', 1, 0, 0, 1"),
    insert(
      `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id)
       select value, 1, 0, 'user', 'ada', 'Ada', 'key_policy.changed', value, 'r'`,
    ),
  ]);
  return ids;
}

/** Runs once, and returns what that cost, without the row that is read of each inactive organization. */
async function bill() {
  now += RUN_MS;
  const { db, calls } = countD1(env.DB);
  const inactive = await env.DB.prepare('select count(*) as n from organizations where active = 0').first<number>('n');
  await runNotices(now, {}, db);
  const sum = (column: 'rowsRead' | 'rowsWritten') => calls.reduce((total, call) => total + call[column], 0);
  return { calls: calls.length, read: sum('rowsRead') - (inactive ?? 0), written: sum('rowsWritten') };
}

/** Runs until the round has ended. The first one also sets the positions of all organizations. */
async function endRound(): Promise<void> {
  await bill();
  if ((await env.DB.prepare('select after_id from notice_rounds').first('after_id')) !== '') await endRound();
}

/** Expects that a run costs at most what a line of the table says. */
function expectAtMost(what: string, highest: Awaited<ReturnType<typeof bill>>, found: typeof highest): void {
  expect(published).toContain(
    `| ${what} | ${highest.calls} | ${highest.read.toLocaleString('en')} | ${highest.written} |`,
  );
  expect(found.calls).toBe(highest.calls);
  expect(found.written).toBe(highest.written);
  expect(found.read).toBeLessThanOrEqual(highest.read);
  expect(found.read).toBeGreaterThan(highest.read * 0.8);
}

/** Says that a key of the organization has just written something, and it and others have before. */
const write = (organization: string) =>
  env.DB.prepare(
    `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id, day, day_records, day_bytes)
     with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)
     select ?1, 1 + i, ?2, 'api_key', 'k', 'k', 'note.created', 'x', 'r', date(?2 / 1000, 'unixepoch'), i, i from n`,
  )
    .bind(organization, now + RUN_MS)
    .run();

test('a run in which nothing happened reads a few rows of each organization, and writes one', async () => {
  await makeOrganizations('idle', 50);
  await endRound();
  expectAtMost('50 organizations, nothing happened', { calls: 5, read: 600, written: 1 }, await bill());
});

test('an organization with 150 keys costs more when it wrote something, and in the first run of a day', async () => {
  const [organization = ''] = await makeOrganizations('keys', 1);
  await insertKeys(env.DB, organization, 150, now);
  await endRound();
  await write(organization);
  expectAtMost('one with 150 keys, which wrote something', { calls: 6, read: 800, written: 1 }, await bill());
  await bill();
  now = Date.parse('2027-03-02T00:01:00Z');
  expectAtMost('one with 150 keys, first run of a day', { calls: 6, read: 1_600, written: 1 }, await bill());
});

test('a run looks at 200 organizations, and the next one continues', async () => {
  const ids = await makeOrganizations('many', MAX_ORGANIZATIONS + 50);
  await endRound();
  const [first, last] = [ids[0] ?? '', ids.at(-1) ?? ''];
  for (const organization of [first, last]) await makeKey(organization, {}, () => now);
  const { read } = await bill();
  expect(read).toBeLessThan(MAX_ORGANIZATIONS * 13);
  expect(addresses.messages.map(({ data }) => data.organization)).toEqual([first]);
  await bill();
  expect(addresses.messages.map(({ data }) => data.organization)).toEqual([first, last]);
  for (let run = 0; run < 3; run++) await bill();
  expect(addresses.messages).toHaveLength(2);
});

test('a run examines 50 organizations and sends 100 messages; nothing is lost or sent twice', async () => {
  const ids = await makeOrganizations('news', MAX_EXAMINED + 10);
  await endRound();
  for (const organization of ids) for (let key = 0; key < 2; key++) await makeKey(organization, {}, () => now);
  const made = () => env.DB.prepare('select count(distinct organization_id) as n from notices').first('n');
  await bill();
  expect(await made()).toBe(MAX_EXAMINED);
  expect(addresses.attempts.push + addresses.attempts.chat).toBe(MAX_MESSAGES);
  for (let run = 0; run < 4; run++) await bill();
  expect(await made()).toBe(MAX_EXAMINED + 10);
  expect(addresses.messages).toHaveLength(2 * ids.length);
  expect(new Set(addresses.messages.map(({ id }) => id)).size).toBe(2 * ids.length);
  expect(addresses.posts.flat()).toHaveLength(2 * ids.length);
});
