import { env } from 'cloudflare:workers';
import { beforeEach, describe, expect, test } from 'vitest';
import { aroundD1, countD1, reportingSize } from '../../support/d1.ts';
import { elementsOf } from '../../support/page.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { keyIn, makeSettings } from '../../support/settings.ts';
import { makeKey, makeOrganization } from '../../support/world.ts';

const LIMIT = 10_000_000_000;

/** The settings area of a new organization on a database that is full to this share. */
async function makeSized(share: number, options: { now?: () => number } = {}) {
  const { db, calls } = countD1(reportingSize(env.DB, () => share * LIMIT));
  const settings = await makeSettings({ ...options, bindings: { DB: db }, config: { databaseLimit: LIMIT } });
  return { ...settings, calls };
}

/** The text of the warnings on a page. */
async function warningsOn(page: string): Promise<string> {
  const warnings = await elementsOf(page, '.notice.warning');
  return warnings.map(({ text }) => text.replaceAll(/\s+/g, ' ').trim()).join('\n');
}

/** Gives an organization a ledger: `days` rows with so many bytes each. */
async function giveLedger(organization: string, bytes: number, days = 1): Promise<void> {
  const { id } = await makeKey(organization);
  await env.DB.prepare(
    `insert into key_days with recursive n(i) as (select 1 union all select i + 1 from n where i < ?4)
     select ?1, ?2, date('2026-01-01', '+' || i || ' days'), ?2, 1, 0, 0, ?3, 1, 1, 1, null from n`,
  )
    .bind(organization, id, bytes, days)
    .run();
}

const PATHS = ['/keys', '/which-key', '/audit', '/refused', '/which-key', '/revoke-all', '/keys/unknown'];

// What other tests wrote would count as stored text. Test files run one after the other.
beforeEach(() => env.DB.prepare('delete from key_days').run());

describe('the banner about space', () => {
  test('is on no page while the database is less than 70 % full, and costs no call', async () => {
    const { organization, get, calls } = await makeSized(0.6999);
    await giveLedger(organization, 1_000);
    for (const path of PATHS) expect([path, await warningsOn((await get(path)).text)]).toEqual([path, '']);
    calls.length = 0;
    await get('/which-key');
    // The sign-in.
    expect(calls).toHaveLength(1);
  });

  test('is on every page of a database that is 70 % full, and says what to do', async () => {
    const { get, createKey } = await makeSized(0.7349);
    for (const path of PATHS) {
      const text = await warningsOn((await get(path)).text);
      expect(text, path).toMatch(/^The storage of this service.* is 73% full\..*Ask the operator/);
      expect(text, path).not.toContain('Your organization');
    }
    const created = await createKey();
    expect(keyIn(created.text)).toMatch(/^twb_/);
    expect(await warningsOn(created.text)).toContain('73% full');
  });

  test('has stronger words from 90 % on', async () => {
    const [nearly, almost] = [await makeSized(0.8999), await makeSized(0.9)];
    const [calm, urgent] = [
      await warningsOn((await nearly.get('/keys')).text),
      await warningsOn((await almost.get('/keys')).text),
    ];
    expect([calm.includes('89% full'), calm.includes('today')]).toEqual([true, false]);
    expect([urgent.includes('90% full'), urgent.includes('today')]).toEqual([true, true]);
  });

  test('is on no page for a person who administers another organization', async () => {
    const { api, headers } = await makeSized(0.95);
    const response = await api.send(`/settings/${await makeOrganization()}/keys`, { headers });
    expect(response.status).toBe(404);
    expect(await warningsOn(await response.text())).toBe('');
  });

  test.each([
    ['more than a quarter', 1_001, true],
    ['a quarter', 1_000, false],
    ['nothing', 0, false],
  ])(
    'names an organization that wrote %s of all text: %i bytes of theirs, 3,000 of others',
    async (_, bytes, named) => {
      const { organization, get } = await makeSized(0.7);
      if (bytes > 0) await giveLedger(organization, bytes);
      for (const other of [1_000, 2_000]) await giveLedger(await makeOrganization(), other);
      const text = await warningsOn((await get('/keys')).text);
      expect(text.includes('Your organization wrote more than a quarter of all stored text.')).toBe(named);
    },
  );

  test('asks for the share every ten minutes, and reads a few times the rows of the organization', async () => {
    let now = Date.now();
    const { organization, get, calls } = await makeSized(0.7, { now: () => now });
    await giveLedger(organization, 100, 50);
    for (let other = 0; other < 20; other++) await giveLedger(await makeOrganization(), 100, 50);
    const callsOfPage = async () => {
      calls.length = 0;
      expect((await get('/which-key')).status).toBe(200);
      return calls.slice(1);
    };
    const [share, ...more] = await callsOfPage();
    expect([share?.statements, more]).toEqual([1, []]);
    // Its own 50 rows, up to twice, and those of four others: three that have enough bytes together,
    // and one whose first row ends the third. All organizations together have 1,050.
    expect(share?.rowsRead).toBeLessThanOrEqual(320);
    now += 10 * 60_000 - 1;
    expect(await callsOfPage()).toEqual([]);
    now += 1;
    expect(await callsOfPage()).toHaveLength(1);
  });

  test('reads each row of the ledger about once if the organization wrote most of it', async () => {
    const { organization, get, calls } = await makeSized(0.7);
    await giveLedger(organization, 1_000_000, 50);
    for (let other = 0; other < 20; other++) await giveLedger(await makeOrganization(), 100, 50);
    calls.length = 0;
    expect(await warningsOn((await get('/which-key')).text)).toContain('Your organization');
    expect(calls[1]?.rowsRead).toBeLessThanOrEqual(1_050 + 150);
  });

  test('makes no call for the page that says that the database failed', async () => {
    let calls = 0;
    const DB = aroundD1(
      reportingSize(env.DB, () => 0.8 * LIMIT),
      (run, _, sql) => {
        calls += 1;
        return sql.some((text) => text.includes('u.email =')) ? run() : Promise.reject(new Error('overloaded'));
      },
    );
    const { get } = await makeSettings({ bindings: { DB } });
    expect((await get(`/keys/${crypto.randomUUID()}`)).status).toBe(503);
    // The sign-in and the key.
    expect(calls).toBe(2);
  });

  test('does not keep a page from opening if the share cannot be read', async () => {
    const sized = reportingSize(env.DB, () => 0.8 * LIMIT);
    const DB = aroundD1(sized, (run, _, sql) =>
      sql.some((text) => text.includes('key_days')) ? Promise.reject(new Error('D1 DB is overloaded.')) : run(),
    );
    const { get } = await makeSettings({ bindings: { DB } });
    const { status, text } = await get('/which-key');
    expect([status, (await warningsOn(text)).includes('80% full')]).toEqual([200, true]);
    expect(loggedLines('large_share_not_read', 'warn')).toMatchObject([{ requestId: expect.any(String) }]);
  });
});
