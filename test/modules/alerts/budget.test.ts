import { env } from 'cloudflare:workers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { MAX_SENT } from '../../../src/modules/alerts/send-alerts.ts';
import published from '../../bench/README.md?raw';
import { countD1 } from '../../support/d1.ts';
import { insertKeys } from '../../support/many-keys.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { forgetAlerts, runAlerts, runDailyAlerts, startAddresses } from './support.ts';

// What the runs of the alerts read and write for the facts of the core.

const START = Date.parse('2027-03-01T03:17:00Z');
const RUN_MS = 300_000;
let addresses: ReturnType<typeof startAddresses>;
let now = START;
/** The rows that each run reads although no organization is active. */
const withoutOrganizations = new Map<typeof runAlerts, number>();

beforeAll(() => {
  addresses = startAddresses();
});
afterAll(() => addresses.stop());
beforeEach(async () => {
  now = START;
  addresses.reset();
  await forgetAlerts();
  withoutOrganizations.clear();
  for (const run of [runAlerts, runDailyAlerts]) withoutOrganizations.set(run, (await bill(run)).read);
});

/** So many organizations with these ids, each with a key that has been in use for long. */
async function makeOrganizations(prefix: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `${prefix}-${String(index).padStart(4, '0')}`);
  const insert = (sql: string) => env.DB.prepare(`${sql} from json_each(?)`).bind(JSON.stringify(ids));
  await env.DB.batch([
    insert("insert into organizations select value, value, 1, 'UTC', 0, 1, 'settings'"),
    insert("insert into users select value, 'max', 'max@' || value || '.example', 'Max', 1, 0, 0, 1"),
    insert("insert into users select value, 'ivan', 'ivan@' || value || '.example', 'Ivan', 0, 0, 0, 0"),
    insert("insert into users select value, 'ada', 'ada@' || value || '.example', 'Ada', 1, 0, 0, 1"),
  ]);
  return ids;
}

/** Gives every key of these organizations a refused use. */
const refuseAll = (prefix: string) =>
  env.DB.prepare(
    `insert into refused_uses select organization_id, id, 'scope_missing', 1, ?1, ?1, null, null, null, '', null from api_keys
     where organization_id like ?2 on conflict do update set last_at = excluded.last_at`,
  )
    .bind(now, `${prefix}-%`)
    .run();

/** What a run costs, without the rows that it reads if no organization is active. */
async function bill(run: typeof runAlerts) {
  now += RUN_MS;
  const { db, calls } = countD1(env.DB);
  await run(now, {}, db, []);
  const sum = (column: 'rowsRead' | 'rowsWritten') => calls.reduce((total, call) => total + call[column], 0);
  return {
    calls: calls.length,
    read: sum('rowsRead') - (withoutOrganizations.get(run) ?? 0),
    written: sum('rowsWritten'),
  };
}
const urgent = () => bill(runAlerts);
const daily = () => bill(runDailyAlerts);

/**
 * Expects that a run costs what a line of the table says. A few rows more or fewer are read, depending on the
 * organizations of other files before and after these in an index.
 */
function expectPublished(
  what: string,
  line: Awaited<ReturnType<typeof bill>>,
  found: Awaited<ReturnType<typeof bill>>,
): void {
  const { calls, read, written } = line;
  expect(published).toContain(`| ${what} | ${calls} | ${read.toLocaleString('en')} | ${written} |`);
  expect(found).toEqual({ calls, written, read: expect.any(Number) });
  expect(Math.abs(found.read - read), `${found.read} rows read instead of ${read}`).toBeLessThan(10);
}

test('a run every five minutes reads two rows of each organization, in as many calls for 1,000 as for 50', async () => {
  await makeOrganizations('idle', 50);
  expectPublished('50 organizations, nothing happened', { calls: 5, read: 100, written: 0 }, await urgent());
  await makeOrganizations('more', 950);
  expectPublished('1,000 organizations, nothing happened', { calls: 5, read: 2_000, written: 0 }, await urgent());
  expectPublished('1,000 organizations, daily', { calls: 3, read: 7_000, written: 0 }, await daily());
});

test('the daily cost of a full organization does not depend on facts that were sent', async () => {
  const [organization = ''] = await makeOrganizations('keys', 1);
  await insertKeys(env.DB, organization, 150, now);
  await daily();
  for (let run = 0; run < 20; run++) await urgent();
  expect(addresses.messages.length).toBeGreaterThan(0);
  expectPublished('one with 150 keys, every five minutes', { calls: 5, read: 70, written: 0 }, await urgent());
  expectPublished('one with 150 keys, daily', { calls: 3, read: 1_945, written: 0 }, await daily());
});

test('a run sends 100 alerts to each address; nothing is lost or sent twice', async () => {
  const ids = await makeOrganizations('news', 30);
  for (const organization of ids) await insertKeys(env.DB, organization, 5, now);
  await env.DB.prepare("delete from refused_uses where organization_id like 'news-%'").run();
  await refuseAll('news');
  const facts = await env.DB.prepare(
    `select count(*) as n from refused_uses r join api_keys k on k.organization_id = r.organization_id and k.id = r.key_id
     where r.organization_id like 'news-%' and k.revoked_at is null`,
  ).first<number>('n');
  expect(facts).toBeGreaterThan(MAX_SENT);
  const { calls } = await urgent();
  expect(addresses.attempts.push).toBe(MAX_SENT);
  // Each alert is marked with one call.
  expect(calls).toBe(4 + 1 + 1 + MAX_SENT);
  expect(addresses.attempts.chat).toBe(MAX_SENT);
  for (let run = 0; run < 4; run++) await urgent();
  expect(addresses.messages).toHaveLength(facts ?? 0);
  expect(new Set(addresses.messages.map(({ id }) => id)).size).toBe(facts);
  expect(addresses.lines).toHaveLength(facts ?? 0);
});

test.each([
  ['an organization', 1, 2_100, { facts: 203, organizations: ['flood1-0001'] }],
  ['eleven organizations', 11, 200, { facts: 2_000, organizations: [] }],
])('an organization gets its alerts beside %s with thousands of facts', async (_, floods, keys, limit) => {
  const [other = '', ...flooding] = await makeOrganizations(`flood${floods}`, floods + 1);
  for (const organization of [other, ...flooding]) await insertKeys(env.DB, organization, 3, now);
  const insert = env.DB.prepare(
    `insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by)
     with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
     select organization_id, printf('00000000-0000-7000-8000-%012d', i), printf('00000000-0000-7000-8000-%012d', i),
       'flood ' || i, lower(hex(randomblob(32))), hint, scopes, created_at, created_by from api_keys, n
     where organization_id = ?1 and name = (select min(name) from api_keys where organization_id = ?1)`,
  );
  await env.DB.batch(flooding.map((flood) => insert.bind(flood, keys)));
  await env.DB.prepare(`delete from refused_uses where organization_id like 'flood${floods}-%'`).run();
  await refuseAll(`flood${floods}`);
  // The fact of the other organization is older than all of the flood.
  await env.DB.prepare('update refused_uses set last_at = last_at - 60000 where organization_id = ?').bind(other).run();
  loggedLines('alert_limit_met');
  const stored = () =>
    env.DB.prepare('select count(*) as n from alerts where organization_id = ?').bind(other).first('n');
  await urgent();
  expect(await stored()).toBeGreaterThan(0);
  expect(loggedLines('alert_limit_met')).toContainEqual(expect.objectContaining(limit));
  // Its fact ends while the flood continues: the alert is withdrawn.
  await env.DB.prepare('delete from refused_uses where organization_id = ?').bind(other).run();
  await urgent();
  expect(await stored()).toBe(0);
});
