import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { countD1 } from '../../support/d1.ts';
import { importOrganizations, insertKeys } from '../../support/many-keys.ts';
import { countElements, elementsOf, type PageElement } from '../../support/page.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { copyKey, makeSettings, openSettings, signIn } from '../../support/settings.ts';
import { importRecords, makeApi, makeKey, makeOrganization, revoke, rotate } from '../../support/world.ts';

type Settings = Pick<Awaited<ReturnType<typeof makeSettings>>, 'get'>;

/** The names of the keys in a list, in its order. */
const namesIn = async ({ get }: Settings, query = '') => {
  const { status, text } = await get(`/keys${query}`);
  expect(status).toBe(200);
  return (await elementsOf(text, '.keys tbody th bdi')).map((one) => one.text);
};

/** Where an element links to, within the settings area of the organization. */
const pathOf = (link: PageElement | undefined) =>
  String(link?.attributes['href'])
    .replaceAll('&amp;', '&')
    .replace(/^\/settings\/[^/]+/, '');

/** Keys of every kind, at the time `now`. */
async function makeKinds() {
  let now = Date.parse('2027-03-01T12:00:00Z');
  const settings = await makeSettings({ now: () => now });
  const { organization, api } = settings;
  const day = (days: number) => new Date(Date.parse('2027-03-01T12:00:00Z') + days * DAY_MS).toISOString();
  const make = (name: string, changes: Parameters<typeof makeKey>[1] = {}) =>
    makeKey(organization, { name, ...changes }, () => now);
  now -= 60 * DAY_MS;
  await make('Old 10');
  await make('Old 9', { scopes: ['tickets:note:write'] });
  await make('Expired', { expires: day(-1) });
  const used = await make('Used', { scopes: ['tickets:time:write'], expires: day(200) });
  const busy = await make('Busy');
  now += 60 * DAY_MS;
  const soon = await make('Soon', { expires: day(10) });
  const gone = await make('Gone');
  await revoke(organization, gone.id);
  await rotate(organization, soon.id, { grace: '24h', expires: day(300) }, () => now);
  await api.postTime(used.value);
  now -= DAY_MS;
  for (let i = 0; i < 3; i++) await api.postNote(busy.value);
  now += DAY_MS;
  return { ...settings, soon, gone };
}

describe('the list of keys', () => {
  test('shows the working keys, in natural order, with a replaced key beside its successor', async () => {
    const settings = await makeKinds();
    expect(await namesIn(settings)).toEqual(['Busy', 'Old 9', 'Old 10', 'Soon', 'Soon', 'Used']);
    const { text } = await settings.get('/keys');
    const states = (await elementsOf(text, '.keys .state')).map((one) => one.text);
    expect(states.filter((state) => state === 'Replaced')).toHaveLength(1);
  });

  test.each([
    ['?state=expiring', []],
    ['?state=ended', ['Expired', 'Gone']],
    ['?state=all', ['Busy', 'Expired', 'Gone', 'Old 9', 'Old 10', 'Soon', 'Soon', 'Used']],
    ['?q=OLD', ['Old 9', 'Old 10']],
    ['?q=gone', []],
    ['?q=gone&state=all', ['Gone']],
    ['?fact=key_unused', ['Old 9', 'Old 10']],
    ['?fact=key_unused&q=10', ['Old 10']],
    ['?fact=key_unused&sort=last', ['Old 9', 'Old 10']],
    ['?fact=key_unused&state=ended', []],
    ['?expires=never', ['Busy', 'Old 9', 'Old 10']],
    ['?fact=key_of_former', []],
    ['?sort=last', ['Used', 'Busy', 'Old 9', 'Old 10', 'Soon', 'Soon']],
    ['?sort=last&expires=never', ['Busy', 'Old 9', 'Old 10']],
    // What is not valid is ignored.
    ['?state=x&sort=x&expires=x&fact=x', ['Busy', 'Old 9', 'Old 10', 'Soon', 'Soon', 'Used']],
  ])('filters and sorts by its address: %s', { timeout: 60_000 }, async (query, names) => {
    expect(await namesIn(await kinds(), query)).toEqual(names);
  });

  test('an empty list links to all keys, unless it has searched them', async () => {
    const { get } = await kinds();
    const links = async (query: string) =>
      (await elementsOf((await get(`/keys${query}`)).text, '.banner a')).map(({ text }) => text);
    expect(await links('?q=nothing')).toEqual(['Look among all keys']);
    expect(await links('?q=nothing&state=all')).toEqual([]);
    expect(await links('?fact=refused_revoked')).toEqual([]);
  });

  test('does not search for a whole key value, and never repeats it', async () => {
    const settings = await kinds();
    const { value } = settings.soon;
    for (const page of [
      '/keys?q=',
      '/refused?q=',
      '/audit?q=',
      '/audit?ticket=',
      '/time?company=',
      '/time.csv?entry=',
    ]) {
      const { status, text, headers } = await settings.get(`${page}${encodeURIComponent(` ${value}`)}&state=all`);
      const path = page.split('?')[0];
      expect([status, text, headers.get('Location')]).toEqual([303, '', `${settings.base}${path}?state=all`]);
      const notice = decodeURIComponent(headers.get('Set-Cookie') ?? '');
      expect(notice).toMatch(/A whole key is not searched for.*Which key is this/);
      expect(notice).not.toContain(value);
    }
    // The search of all organizations, which every page of an administrator of several has.
    const all = await settings.api.send(`/settings?q=${value}&tab=keys`);
    expect([all.status, all.headers.get('Location')]).toEqual([303, '/settings?tab=keys']);
  });

  test('shows the writes of 30 days of each key, and of no other', async () => {
    const settings = await kinds();
    const { text } = await settings.get('/keys?sort=last&expires=never');
    const labels = (await elementsOf(text, 'td > svg')).map(({ attributes }) => attributes['aria-label']);
    expect(labels).toEqual(['3 writes in 30 days, at most 3 a day', ...Array(2).fill('No writes in 30 days')]);
  });

  test('keeps the other filters in every link and in the form', async () => {
    const settings = await kinds();
    const { text } = await settings.get('/keys?q=o&state=all&sort=last&expires=never');
    const links = (await elementsOf(text, '.state-chips a, thead a')).map(({ attributes }) => attributes['href'] ?? '');
    expect(links.filter((link) => !/q=o/.test(link))).toEqual([`${settings.base}/keys`]);
    expect(links.filter((link) => !/expires=never/.test(link))).toHaveLength(1);
    const hidden = (await elementsOf(text, 'search input[type=hidden]')).map(({ attributes }) => attributes['name']);
    expect(hidden).toEqual(['state', 'expires', 'sort']);
    expect(text).toContain('<h1>All keys that never expire with “o”: 4</h1>');
  });
});

test('a search finds people and places, each row shows what matched, and no line of the log has the text', async () => {
  const settings = await makeSettings();
  const { organization, base, api } = settings;
  await importRecords({
    type: 'user',
    organization,
    id: 'ada',
    email: `ada@${organization}.example`,
    name: 'Ada Root',
    admin: true,
  });
  const used = await makeKey(organization, {
    ...{ name: 'Triage', owner: 'Tess Technician', description: 'On the tessellated server' },
    allowedNetworks: '198.51.100.23 203.0.113.0/24',
  });
  await makeKey(organization, { name: 'Other', owner: 'NOC team' });
  await makeKey(organization, { name: 'Tessa' });
  await api.postNote(used.value, undefined, { 'CF-Connecting-IP': '203.0.113.9' });
  const found = async (q: string) => {
    const { text } = await settings.get(`/keys?q=${q}`);
    const rows = await elementsOf(text, '.keys tbody th');
    return rows.map((row) => row.text.replace(/\s*twb_\S+\s*/, '|').trim());
  };
  // After a search, Tab continues at its field.
  const focusOn = async (path: string) => countElements((await settings.get(path)).text, '[name=q][autofocus]');
  expect([await focusOn('/keys?q=tess'), await focusOn('/keys')]).toEqual([1, 0]);
  expect(await found('tess')).toEqual(['Tessa|', 'Triage|Owner: Tess Technician']);
  expect(await found('tessellated')).toEqual(['Triage|Description: On the tessellated server']);
  expect(await found('root')).toEqual(['Other', 'Tessa', 'Triage'].map((name) => `${name}|Created by: Ada Root`));
  expect(await found('203.0.113.9')).toEqual(['Triage|Last write from: 203.0.113.9']);
  expect(await found('198.51.100.23')).toEqual(['Triage|Allowed network: 198.51.100.23/32']);
  const lines = loggedLines('request').filter(({ route }) => route === '/settings/:organization/keys');
  expect(lines.length).toBeGreaterThan(4);
  expect(JSON.stringify(lines)).not.toMatch(/tessellated|198\.51\.100\.23/);

  // The owner and the address on the page of a key, and the address in the audit log, lead to their keys.
  const linksIn = async (path: string) =>
    (await elementsOf((await settings.get(path)).text, '.facts a, .entry a')).map(
      ({ attributes }) => attributes['href'],
    );
  const [owner, address] = [`${base}/keys?q=Tess+Technician`, `${base}/keys?q=203.0.113.9`];
  expect(await linksIn(`/keys/${used.id}`)).toEqual(expect.arrayContaining([owner, address]));
  expect(await linksIn('/audit')).toContain(address);
});

// Made once: no test changes anything.
let made: ReturnType<typeof makeKinds> | undefined;
function kinds() {
  made ??= makeKinds();
  return made;
}

describe('one page', () => {
  test('the page contains every live key once', async () => {
    const settings = await makeSettings();
    const key = await makeKey(settings.organization);
    await copyKey(settings.organization, key.id, { prefix: 'copy-', count: 99 });
    expect(new Set(await namesIn(settings)).size).toBe(100);
    expect((await namesIn(settings)).length).toBe(100);
  });

  test('the page of ended keys continues with older keys after 200', async () => {
    const settings = await makeSettings();
    const key = await makeKey(settings.organization, { name: 'Newest' }, () => Date.parse('2020-01-01'));
    await copyKey(settings.organization, key.id, { prefix: '0000-', count: 210, revoked: true });
    const { text } = await settings.get('/keys?state=ended');
    expect(await countElements(text, '.keys tbody tr')).toBe(199);
    const [older] = await elementsOf(text, '.pages a');
    const { text: rest } = await settings.get(pathOf(older));
    expect(await countElements(rest, '.keys tbody tr')).toBe(11);
    expect([text.includes('Older keys'), rest.includes('Older keys')]).toEqual([true, false]);
  });

  test('the first page of all keys contains a live key that is older than the ended keys, and no other page', async () => {
    const settings = await makeSettings();
    const key = await makeKey(settings.organization, { name: 'Old and live' }, () => Date.parse('2020-01-01'));
    await copyKey(settings.organization, key.id, { prefix: 'ended-', count: 210, revoked: true });
    const { text } = await settings.get('/keys?state=all&q=live');
    expect(await countElements(text, '.keys tbody tr')).toBe(1);
    // The numbers count all keys, not those that a search found.
    expect(await countElements(text, '.state-chips .number')).toBe(0);
    expect(await countElements((await settings.get('/keys?state=all')).text, '.state-chips .number')).toBeGreaterThan(
      0,
    );
    const [older] = await elementsOf(text, '.pages a');
    expect(await countElements((await settings.get(pathOf(older))).text, '.keys tbody tr')).toBe(0);
  });
});

describe('notes about keys', () => {
  test('each chip leads to a list of as many keys as it counts, and none needs attention', async () => {
    const settings = await kinds();
    const { text } = await settings.get('/keys?state=all');
    const chips = await elementsOf(text, '.state-chips a[href*=fact]');
    expect(chips.map((chip) => chip.text.trim().replace(/\s+/g, ' '))).toEqual(['Unused 2']);
    expect(await namesIn(settings, pathOf(chips[0]).replace('/keys', ''))).toEqual(['Old 9', 'Old 10']);
    expect(await countElements((await settings.get('/keys')).text, '.attention [href*=key_unused]')).toBe(0);
  });
});

describe('what needs attention', () => {
  test('each fact links to a list of as many keys as it counts', async () => {
    const organization = `many-${crypto.randomUUID().slice(0, 5)}`;
    const email = `max@${organization}.example`;
    await importOrganizations(env.DB, [{ id: organization, name: 'Many' }], email);
    await insertKeys(env.DB, organization, 60, Date.now());
    const settings = await openSettings(makeApi({ config: { signIn: signIn.config } }), organization, email);
    const tiles = await elementsOf((await settings.get('/keys')).text, '.attention a');
    const found = await Promise.all(
      tiles.map(async (tile) => {
        const { text: page } = await settings.get(pathOf(tile));
        const isOne = await countElements(page, 'main .banner.danger');
        return [
          isOne ? 'its page' : pathOf(tile).replace('/keys?', ''),
          Number(/\d+/.exec(tile.text)?.[0]),
          isOne || (await countElements(page, '.keys tbody tr')),
        ];
      }),
    );
    expect(found).toEqual([
      ['its page', 1, 1],
      // The number of writes, by one key.
      ['its page', 52, 1],
      ...Array.from({ length: 3 }, () => ['its page', 1, 1]),
      ['fact=key_expiring', 5, 5],
    ]);
    // The same numbers, in SQL of their own.
    const numbers = `
      select reason, iif(reason = 'idempotency_mismatch', sum(count), count(*)) as number
      from refused_uses where organization_id = ?1 group by reason`;
    const { results } = await env.DB.prepare(numbers).bind(organization).all<{ reason: string; number: number }>();
    expect(results.map(({ number }) => number).sort()).toEqual(
      found
        .slice(0, 5)
        .map(([, number]) => number)
        .sort(),
    );
  });
});

describe('reading the list of keys', () => {
  /** The calls to D1 and the rows read for a page of the list, without those of the sign-in. */
  async function costOf(organization: string, query: string) {
    const { db, calls } = countD1(env.DB);
    const email = `cost@${organization}.example`;
    await importRecords({ type: 'user', organization, id: 'cost', email, name: 'Cost', admin: true });
    const api = makeApi({ config: { signIn: signIn.config }, bindings: { DB: db } });
    const settings = await openSettings(api, organization, email);
    expect((await settings.get(`/keys${query}`)).status).toBe(200);
    const ofPage = calls.slice(1);
    return { calls: ofPage.length, rows: ofPage.reduce((sum, { rowsRead }) => sum + rowsRead, 0) };
  }

  /** Gives each key of an organization 400 days in the ledger. */
  async function addDays(organization: string) {
    await env.DB.prepare(
      `insert into key_days select k.organization_id, k.chain_id, date('now', '-' || value || ' days'), k.id, 1, 1, 1, 10, 1, null
       from api_keys k, json_each(?2) where k.organization_id = ?1 on conflict do nothing`,
    )
      .bind(organization, JSON.stringify(Array.from({ length: 400 }, (_, day) => day)))
      .run();
  }

  /** 5,000 more rows in the audit log. */
  async function addWrites(organization: string) {
    await env.DB.prepare(
      `insert into audit_log select ?1, (select max(seq) from audit_log where organization_id = ?1) + 1 + value, 1, 'system', 'psa', 'PSA',
         'note.created', 'r', null, 'q', null, null, null, null, '', 0, 0 from json_each(?2)`,
    )
      .bind(organization, JSON.stringify(Array.from({ length: 5_000 }, (_, row) => row)))
      .run();
  }

  // With as many live keys as an organization can have.
  test.each([
    ['', 2, 8_200],
    ['?state=all', 3, 15_700],
    ['?fact=refused_revoked', 1, 3_200],
  ])(
    'the list reads a limited number of rows, whatever the keys have written and however many ended: %s',
    async (query, calls, rows) => {
      const organization = await crowded();
      const cost = await costOf(organization, query);
      expect(cost.calls).toBe(calls);
      expect(cost.rows).toBeLessThanOrEqual(rows);
    },
  );

  let made: Promise<string> | undefined;
  function crowded() {
    made ??= makeCrowded();
    return made;
  }

  /** An organization with 150 live and 300 revoked keys, all of which write each day. */
  async function makeCrowded() {
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    await copyKey(organization, key.id, { prefix: 'live-', count: 149 });
    await copyKey(organization, key.id, { prefix: '0000-', count: 300, revoked: true });
    await addDays(organization);
    await addWrites(organization);
    return organization;
  }
});
