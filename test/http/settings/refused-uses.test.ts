import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { CRON_TRIGGERS, runJobs } from '../../../src/jobs.ts';
import { recordRefusal } from '../../../src/services/keys/record-refusal.ts';
import { endLostWritesOf, everyRefusedUse, readUsesOfKey } from '../../../src/services/keys/refused-uses.ts';
import { committingTwice, countD1 } from '../../support/d1.ts';
import { countElements, csvRows, elementsOf } from '../../support/page.ts';
import { copyKey, makeSettings } from '../../support/settings.ts';
import { importAdmin } from '../../support/time.ts';
import { asAdmin, config, makeKey, makeOrganization, revoke, rotate, rowsOf, TIME } from '../../support/world.ts';

type Settings = Awaited<ReturnType<typeof makeSettings>>;

/** A revoked key of the organization that was used once since. */
async function makeRefused({ organization, api }: Settings, name = 'Revoked') {
  const key = await makeKey(organization, { name });
  await revoke(organization, key.id);
  expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(401);
  await api.settled();
  return key;
}

/** What needs attention in the list of keys: the words, with the address of their page below `/keys`. */
async function attention({ base, get }: Settings): Promise<Record<string, string>> {
  const tiles = await elementsOf((await get('/keys')).text, '.attention a');
  return Object.fromEntries(
    tiles.map(({ attributes, text }) => [
      text.replaceAll(/\s+/g, ' ').trim(),
      String(attributes['href']).replace(`${base}/keys`, ''),
    ]),
  );
}

/** The names of the keys that a list shows. */
const listed = async ({ get }: Settings, filter: string) =>
  (await elementsOf((await get(`/keys${filter}`)).text, 'tbody th bdi')).map(({ text }) => text);

describe('a refused use of a key', () => {
  test('the administrator sees the use with its reason, while the caller gets the constant 401', async () => {
    const { organization, api, base, get } = await makeSettings();
    const key = await makeKey(organization, { name: 'Half', scopes: ['tickets:note:write'] });
    const from = { 'CF-Connecting-IP': '192.0.2.5' };
    const refused = await api.postTime(key.value, undefined, from);
    const unknown = await api.postTime('twb_no', undefined, from);
    expect(await refused.text()).toBe(await unknown.text());
    await api.settled();
    expect(await rowsOf('refused_uses', organization)).toMatchObject([
      { key_id: key.id, reason: 'scope_missing', count: 1, source_address: '192.0.2.5' },
    ]);
    for (const [path, rows, banners] of [
      ['/refused', 1, 0],
      [`/keys/${key.id}`, 1, 1],
    ] as const) {
      const { text } = await get(path);
      expect([await countElements(text, '.refused tbody tr'), await countElements(text, '[role=alert]')]).toEqual([
        rows,
        banners,
      ]);
      expect(text).toContain('192.0.2.5');
      // What to do.
      expect(await countElements(text, `a[href="${base}/keys/${key.id}/replace"]`)).toBeGreaterThan(0);
    }
  });

  test('a use is recorded for a key without PSA', async () => {
    const { organization, api } = await makeSettings({ psa: false });
    expect((await api.send('/api/v1/ping', { key: (await makeKey(organization)).value })).status).toBe(403);
    await api.settled();
    expect(await rowsOf('refused_uses', organization)).toMatchObject([{ reason: 'psa_not_included' }]);
  });

  /** A key that loses writes: the first one of an Idempotency-Key is written, the others are lost. */
  async function makeLosing() {
    const clock = { now: Date.parse('2027-03-22T03:30:05Z') };
    const settings = await makeSettings({ now: () => clock.now });
    const { id, value } = await makeKey(settings.organization);
    /** Sends notes with an Idempotency-Key, and returns the ids of the requests. */
    const send = async (event: string, tickets: readonly string[]) => {
      const ids: unknown[] = [];
      for (const ticket of tickets) {
        const once = { 'Idempotency-Key': event };
        const { headers } = await settings.api.postNote(value, { message: `note ${ids.length}` }, once, ticket);
        ids.push(headers.get('X-Request-Id'));
        clock.now += 100;
      }
      await settings.api.settled();
      return ids;
    };
    /** The rows of the lost writes on a page, as text, after the text before their table. */
    const lostOn = async (path: string) => {
      const [, section = ''] = (await settings.get(path)).text.split('Writes that may be lost</h2>');
      const [lost = ''] = section.split('</tbody>');
      const [before = '', ...rows] = lost
        .replace(/^<p>An Idempotency.*?<\/p>/, '')
        .split(/<table|<tr>/)
        .map((row) =>
          row
            .replaceAll(/<[^>]*>|\s+/g, ' ')
            .replaceAll(/ +/g, ' ')
            .replaceAll('- ', '-')
            .trim(),
        );
      return { before, rows: rows.slice(2) };
    };
    return { ...settings, id, clock, send, lostOn };
  }

  test('each lost write of a burst is counted and listed, latest first', async () => {
    const settings = await makeLosing();
    const { organization, base, id, clock, send, lostOn, get } = settings;
    const [, ...first] = await send('burst:1', ['1001', '1001', '1001', '1001', '1002', '1002']);
    clock.now += 10_000;
    const [, second] = await send('triage:2', ['1001', '1001']);
    expect(await rowsOf('refused_uses', organization)).toMatchObject([{ count: 6 }]);
    const at = '22 Mar 2027, 03:30';
    for (const [path, name] of [
      ['/refused', /^n8n: triage twb_.* /],
      [`/keys/${id}`, /^/],
    ] as const)
      expect(await lostOn(path)).toEqual({
        before: expect.stringMatching(new RegExp(`${name.source}Entered by hand…$`)),
        rows: [
          `triage:2 1001 ${at} 1 write ${at} , ticket 1001. Request ${second}`,
          `burst:1 1002 , 1001 ${at} 5 writes ${first
            .toReversed()
            .map((request, index) => `${at} , ticket ${index < 2 ? 1002 : 1001}. Request ${request}`)
            .join(' ')}`,
        ],
      });
    expect(Object.keys(await attention(settings))).toEqual([
      expect.stringMatching(/^6 writes may be lost“n8n: triage”, 6 requests, last/),
    ]);
    const page = (await get('/refused')).text;
    expect(await countElements(page, `a[href="${base}/audit?q=burst%3A1"]`)).toBe(1);
    const [banner] = await elementsOf((await get(`/keys/${id}`)).text, '.banner.danger');
    expect(banner?.text.replaceAll(/\s+/g, ' ')).toMatch(
      /^Writes may be lost: An Idempotency-Key was reused\. 6 writes, last just now from .*by hand/,
    );
    const file = (await get('/refused.csv')).text;
    for (const request of [...first, second]) expect(file).toContain(`request ${request}`);
    // That of a search has the writes that the page shows.
    const [link] = await elementsOf((await get(`/refused?q=${second}`)).text, 'a[href*="/refused.csv"]');
    const found = csvRows((await get(String(link?.attributes['href']).slice(base.length))).text);
    expect(found).toEqual([expect.stringMatching(new RegExp(`,"Lost",[^;]*request ${second}"$`))]);
  });

  test('lost writes are no refused requests: their responses were 200', async () => {
    const { organization, id, send, get } = await makeLosing();
    await send('burst:1', ['1001', '1001']);
    const textsOf = async (path: string, selector: string) =>
      (await elementsOf((await get(path)).text, selector)).map(({ text }) => text.replaceAll(/\s+/g, ' ').trim());
    for (const path of ['/refused', '/refused?status=Lost', `/keys/${id}`])
      expect([path, await textsOf(path, '.refused tbody tr')]).toEqual([
        path,
        [expect.stringMatching(/Lost An Idempotency-Key was reused ?Not written. Response: 200, or 409/)],
      ]);
    expect(await textsOf('/refused', '.state-chips a')).toEqual(['All', 'Lost 1']);
    expect(await textsOf('/refused?status=409', '.refused tbody tr')).toEqual([]);
    expect(await textsOf('/keys', '.keys td .mark')).toEqual(['lost writes']);
    expect(await textsOf(`/keys/${id}`, '.head .mark')).toEqual(['lost writes']);
    await revoke(organization, id);
    await send('burst:2', ['1001']);
    expect(await textsOf(`/keys/${id}`, '.head .mark')).toEqual(['refused', 'lost writes']);
  });

  test('a search finds lost writes by request id, Idempotency-Key and ticket, with the advice and the form of their key', async () => {
    const { base, id, send, lostOn, get } = await makeLosing();
    const [, request] = await send('burst:1', ['1001', '1002', '1002']);
    await send('triage:2', ['1001', '1001']);
    for (const [q, rows] of [
      [request, [/^burst:1 1002 .* 1 write .*Request/]],
      ['burst:1', [/^burst:1 1002 .* 2 writes /]],
      ['1001', [/^triage:2 1001 .* 1 write /]],
      ['other', []],
    ] as const) {
      const path = `/refused?q=${q}`;
      expect([q, (await lostOn(path)).rows]).toEqual([q, rows.map((row) => expect.stringMatching(row))]);
      const { text } = await get(path);
      expect(text.includes('Build the Idempotency-Key from the ID of the event')).toBe(rows.length > 0);
      expect(
        await countElements(text, `#lost a[href="${base}/keys/${id}/lost-writes?q=${encodeURIComponent(`${q}`)}"]`),
      ).toBe(rows.length);
      expect(await countElements(text, `#lost h3 a[href="${base}/keys/${id}"]`)).toBe(rows.length);
      expect(text.includes('The log of 7 days has no request with')).toBe(rows.length === 0);
    }
    // Another organization finds none of them.
    const foreign = await makeSettings();
    expect((await foreign.get('/refused?q=burst%3A1')).text).not.toContain('Writes that may be lost');
  });

  test('above the limit of a minute, the number of lost writes is a lower bound', async () => {
    const settings = await makeLosing();
    const { id, send, lostOn, get } = settings;
    await send('burst:1', Array<string>(10).fill('1001'));
    expect((await lostOn('/refused')).before).toMatch(/Entered by hand…$/);
    await send('burst:2', Array<string>(4).fill('1001'));
    for (const path of ['/refused', `/keys/${id}`])
      expect(await lostOn(path)).toMatchObject({
        before: expect.stringMatching(
          /by hand… At least 10 writes\. More may be missing: compare the automation’s runs\.$/,
        ),
        rows: [expect.stringContaining('burst:2'), expect.stringMatching(/^burst:1 .* 9 writes /)],
      });
    expect(Object.keys(await attention(settings))).toEqual([
      expect.stringMatching(/^At least 10 writes may be lost“n8n: triage”, at least 10 requests, last/),
    ]);
    const [banner] = await elementsOf((await get(`/keys/${id}`)).text, '.banner.danger');
    expect(banner?.text.replaceAll(/\s+/g, ' ')).toMatch(/reused\. At least 10 writes, .*compare the automation/);
  });

  test('more lost writes than are kept are a lower bound, also if each was counted', async () => {
    const settings = await makeLosing();
    const { organization, id, clock, send, lostOn } = settings;
    const loseNine = async (minute: number) => {
      await send(`burst:${minute}`, Array<string>(10).fill('1001'));
      clock.now += 60_000;
    };
    for (let minute = 0; minute < 5; minute++) await loseNine(minute);
    expect((await lostOn(`/keys/${id}`)).before).toBe('Entered by hand…');
    await loseNine(5);
    expect((await lostOn(`/keys/${id}`)).before).toMatch(/At least 54 writes\./);
    const [use] = await rowsOf('refused_uses', organization);
    expect(JSON.parse(String(use?.['lost_writes']))).toHaveLength(50);
    const requests = async () => {
      const [row] = await elementsOf((await settings.get('/refused')).text, '.refused tbody tr');
      return row?.text.replaceAll(/\s+/g, ' ');
    };
    expect(await requests()).toMatch(/At least 54 writes since 03:30, last 1 min ago/);
    clock.now += DAY_MS;
    expect(await requests()).toMatch(/At least 54 writes since 22 Mar, 03:30, last 1 day ago/);
    // A revocation does not write them.
    await revoke(organization, id);
    clock.now += 7 * DAY_MS;
    expect(await requests()).toMatch(/No request for 7 days\.At least 54 writes/);
  });

  test('the lost writes of a key that were entered are folded with an audit entry, and a later one is not', async () => {
    const settings = await makeLosing();
    const { organization, base, id, send, lostOn, get, post } = settings;
    await send('burst:1', ['1001', '1001', '1002']);
    const path = `/keys/${id}/lost-writes`;
    /** The fields of the form that a page leads to. */
    const formOn = async (page: string) => {
      const [link] = await elementsOf((await get(page)).text, '#lost a.button');
      const { text } = await get(String(link?.attributes['href']).replaceAll('&amp;', '&').slice(base.length));
      const inputs = await elementsOf(text, 'form[method=post] input');
      const fields = inputs.map(({ attributes }) => [attributes['name'], String(attributes['value'])] as const);
      // The page has a row for each write.
      expect(await countElements(text, 'tbody tr')).toBe(Number(new Map(fields).get('count')));
      return Object.fromEntries(fields);
    };
    const seen = await formOn('/refused?status=Lost');
    await send('burst:1', ['1003']);
    // Another one was lost meanwhile.
    const again = await post(path, seen);
    expect([again.location, again.notice]).toEqual([
      `${base}${path}?status=Lost`,
      expect.stringMatching(/^More writes were lost after you opened this page\. Nothing was changed\.$/),
    ]);
    expect(Object.keys(await attention(settings))).toHaveLength(1);
    expect(await formOn(`/keys/${id}`)).toEqual({ count: '3', lastAt: expect.any(String), onKey: 'yes' });
    const onList = await formOn('/refused?status=Lost');
    const entered = await post(path, onList);
    expect([entered.location, entered.notice]).toEqual([
      `${base}/refused?status=Lost`,
      'Marked as entered by hand: 3 writes of “n8n: triage”.',
    ]);
    expect((await post(path, { ...onList, onKey: 'yes' })).location).toBe(`${base}/keys/${id}`);
    // The page of the form leads back if nothing is left to enter.
    expect((await get(`${path}?q=burst%3A1`)).headers.get('Location')).toBe(`${base}/refused?q=burst%3A1`);
    expect(await attention(settings)).toEqual({});
    const textsOf = async (page: string, selector: string) =>
      (await elementsOf((await get(page)).text, selector)).map(({ text }) => text.replaceAll(/\s+/g, ' ').trim());
    for (const page of ['/refused', `/keys/${id}`, '/refused?q=burst%3A1']) {
      expect((await lostOn(page)).rows).toEqual([]);
      expect([page, await textsOf(page, '#lost summary')]).toEqual([page, ['Entered by hand: 3 writes', '3 writes']]);
      expect(await textsOf(page, '#lost .lost')).toEqual([expect.stringMatching(/Entered by hand, .* \d\d:\d\d$/)]);
      expect(await textsOf(page, '#lost a.button')).toEqual([]);
      // The key is an h3 below it.
      expect(await textsOf(page, '#lost h2')).toEqual(['Lost writes']);
    }
    expect(await textsOf('/refused', '.state-chips a')).toEqual(['All', 'Lost 0']);
    expect(await textsOf('/refused', '.refused tbody th')).toEqual([
      expect.stringMatching(/Entered by hand, \d+ \w+ \d{4}, \d\d:\d\d$/),
    ]);
    const audit = await rowsOf('audit_log', organization);
    expect(audit.filter(({ action }) => action === 'api_key.lost_writes_entered')).toEqual([
      expect.objectContaining({ actor_id: 'ada', target_id: id, detail: '3 writes' }),
    ]);
    const [who] = await elementsOf((await get('/refused')).text, '.refused th .minor a');
    const link = String(who?.attributes['href']).replaceAll('&amp;', '&').slice(base.length);
    expect(await textsOf(link, '.log .chip')).toEqual(['Lost writes entered']);
    // Of another organization, or without a number.
    expect((await (await makeSettings()).post(path, onList)).status).toBe(404);
    for (const key of ['%00', '..%2f..%2f..', '%2f%2felsewhere.example'])
      expect((await post(`/keys/${key}/lost-writes`, onList)).status).toBe(404);
    expect((await post(path, { count: '3' })).status).toBe(400);
    settings.clock.now += 1_000;
    await send('burst:1', ['1002', '1003']);
    expect(Object.keys(await attention(settings))).toEqual([expect.stringMatching(/^2 writes may be lost/)]);
  });

  test('the use loses its source address after 30 days, and keeps its count', async () => {
    const settings = await makeSettings();
    await makeRefused(settings);
    const [use] = await rowsOf('refused_uses', settings.organization);
    const lastAt = Number(use?.['last_at']);
    expect(use?.['source_address']).not.toBeNull();
    const runDaily = (now: number) =>
      runJobs(CRON_TRIGGERS.daily, { db: env.DB, config: config(), contributions: [], now: () => now });
    await runDaily(lastAt + 30 * DAY_MS);
    expect(await rowsOf('refused_uses', settings.organization)).toEqual([use]);
    await runDaily(lastAt + 30 * DAY_MS + 1);
    expect(await rowsOf('refused_uses', settings.organization)).toEqual([{ ...use, source_address: null }]);
  });
});

describe('the file of refused uses', () => {
  test('the file contains the key, the reason, the count and the times of each use', async () => {
    const settings = await makeSettings({ now: () => Date.parse('2027-03-22T03:30:05Z') });
    const key = await makeRefused(settings, '=Old');
    const [use] = await rowsOf('refused_uses', settings.organization);
    const { text } = await settings.get('/refused.csv');
    const at = '"2027-03-22 03:30:05","2027-03-22 03:30:05"';
    expect(csvRows(text)).toEqual([
      `"'=Old","${key.hint}",401,"The key is revoked",,,,,,"${use?.['source_address']}",,1,${at},${at},,,,`,
    ]);
    expect(text.split('\r\n')[0]).toBe(
      '"Key","Key hint","Status","Reason","Daily limit","Fields","Ticket","Company","Technician","From","User-Agent","Count, at least","First (UTC)","First (UTC)","Last (UTC)","Last (UTC)","Entered by hand (UTC)","Entered by hand (UTC)","Also refused","Latest lost writes"',
    );
  });

  test('the file contains all uses, and reads two rows for each, three for a limit of records', async () => {
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    await copyKey(organization, key.id, { prefix: '0-', count: 700 });
    await env.DB.prepare(
      `with reasons(reason, limit_id) as (
         values ('expired', ''), ('daily_limit_reached', 'own:records'), ('daily_limit_reached', 'own:minutes'))
       insert into refused_uses
       select organization_id, id, reason, 1, 1, 1, null, null, null, limit_id, null from api_keys, reasons
       where organization_id = ? and id like '0-%'`,
    )
      .bind(organization)
      .run();
    const { db, calls } = countD1(env.DB);
    const found = new Set<string>();
    let number = 0;
    let second: string | undefined;
    for await (const { items, next } of everyRefusedUse({ ...asAdmin(organization), db })) {
      number += items.length;
      second ??= next;
      for (const use of items) found.add(`${use.key.id} ${use.reason} ${use.limitId}`);
    }
    // A page of 500 ends between the limits of a key.
    expect([number, found.size, calls.length]).toEqual([2_100, 2_100, 5]);
    let rest = 0;
    for await (const { items } of everyRefusedUse(asAdmin(organization), second)) rest += items.length;
    expect(rest).toBe(1_600);
    expect(Math.max(...calls.map(({ rowsRead }) => rowsRead))).toBeLessThanOrEqual(1_180);
  });
});

describe('a revoked key that is still used', () => {
  test('the key needs attention until 7 days after its last use', async () => {
    let now = Date.now();
    const settings = await makeSettings({ now: () => now });
    const { id } = await makeRefused(settings);
    const lastAt = now;
    for (const [ms, shown] of [
      [-1, ['Revoked']],
      [0, ['Revoked']],
      [1, []],
    ] as const) {
      now = lastAt + 7 * DAY_MS + ms;
      const tiles = shown.length > 0 ? { '1 revoked key is still in use': `/${id}` } : {};
      expect(await attention(settings)).toEqual(tiles);
      expect(await listed(settings, '?fact=refused_revoked')).toEqual(shown);
    }
  });

  test('the key needs attention however many other uses were refused since', async () => {
    const settings = await makeSettings();
    const { organization } = settings;
    const key = await makeKey(organization);
    expect(await attention(settings)).toEqual({});
    const { id } = await makeRefused(settings);
    await copyKey(organization, key.id, { prefix: 'other-', count: 120 });
    await env.DB.prepare(
      `insert into refused_uses
       select organization_id, id, 'expired', 1, ?2, ?2, null, null, null, '', null from api_keys where organization_id = ?1 and id like 'other-%'`,
    )
      .bind(organization, Date.now() + 1_000)
      .run();
    const tiles = Object.entries(await attention(settings));
    expect(tiles).toEqual([
      [expect.stringMatching(/^120 expired keys are still in use/), '?fact=refused_expired'],
      ['1 revoked key is still in use', `/${id}`],
    ]);
  });
});

test('one key whose writes may be lost is shown by name and address, and several are counted together', async () => {
  const settings = await makeSettings();
  const loseWrite = async (name: string) => {
    const { value } = await makeKey(settings.organization, { name });
    const headers = { 'Idempotency-Key': name, 'CF-Connecting-IP': '192.0.2.5' };
    for (const message of ['a', 'b']) await settings.api.postNote(value, { message }, headers);
    await settings.api.settled();
    return Object.entries(await attention(settings)).flat();
  };
  const words = '1 write may be lost“First”, 1 request, last just now from 192.0.2.5';
  expect(await loseWrite('First')).toEqual([words, expect.stringMatching(/^\/[0-9a-f-]{36}#lost$/)]);
  expect(await loseWrite('Second')).toEqual([
    expect.stringMatching(/^2 writes may be lost2 keys, 2 requests, last just now/),
    `${settings.base}/refused#lost`,
  ]);
});

test('each refused use needs attention with its number of writes until its key is revoked, even after a rotation', async () => {
  const settings = await makeSettings();
  const { organization, api } = settings;
  const notes = await makeKey(organization, { name: 'Notes', scopes: ['tickets:note:write'] });
  const limited = await makeKey(organization, { name: 'Limited', dayLimit: { records: 1 } });
  const once = { 'Idempotency-Key': 'k' };
  await api.postTime(notes.value);
  await api.postNote(limited.value, { message: 'a' }, once);
  await api.postNote(limited.value, { message: 'b' }, once);
  await api.postNote(limited.value, { message: 'c' });
  await api.settled();
  const tiles = [
    [expect.stringContaining('1 write may be lost'), `/${limited.id}#lost`],
    ['1 key lacks a scope', `/${notes.id}`],
    ['1 key reached a daily limit', `/${limited.id}`],
  ];
  expect(Object.entries(await attention(settings))).toEqual(tiles);
  expect((await settings.get('/refused')).text).toContain(`/keys/${limited.id}/change#dayLimitRecords"`);
  for (const { id } of [notes, limited]) await rotate(organization, id, { grace: '24h' });
  // Each successor has the same scopes and limits.
  expect(Object.entries(await attention(settings))).toEqual(tiles);
  expect(await listed(settings, '?fact=refused_scope_missing')).toEqual(['Notes']);
  expect(await listed(settings, '?fact=refused_daily_limit_reached')).toEqual(['Limited']);
  await revoke(organization, notes.id);
  await revoke(organization, limited.id);
  expect(Object.values(await attention(settings))).toEqual([`/${limited.id}#lost`]);
});

describe('what ends the attention to refused uses', () => {
  const ELSEWHERE = { 'CF-Connecting-IP': '198.51.100.9' };
  const HOME = { 'CF-Connecting-IP': '203.0.113.7' };

  /** A settings area with a clock, and a key that was refused from elsewhere. */
  async function makeForeign() {
    const clock = { now: Date.parse('2027-03-22T12:00:00Z') };
    const settings = await makeSettings({ now: () => clock.now });
    const key = await makeKey(settings.organization, { networks: '203.0.113.0/24' }, () => clock.now);
    const use = async (address: Record<string, string>) => {
      clock.now += 60_000;
      const { status } = await settings.api.postNote(key.value, undefined, address);
      await settings.api.settled();
      return status;
    };
    expect(await use(ELSEWHERE)).toBe(401);
    return { ...settings, key, clock, use };
  }

  /** The tiles. The banner on the key's page, its marks and the number on the tab agree with them. */
  async function shown(settings: Settings, { id }: { id: string }) {
    const texts = async (path: string, selector: string) =>
      (await elementsOf((await settings.get(path)).text, selector)).map(({ text }) =>
        text.replaceAll(/\s+/g, ' ').trim(),
      );
    const tiles = Object.keys(await attention(settings));
    expect(await texts('/keys', '.tabs .mark')).toEqual(tiles.length > 0 ? [String(tiles.length)] : []);
    expect(await listed(settings, '?fact=refused_address_not_allowed')).toHaveLength(tiles.length);
    expect((await texts('/keys', '.keys td .mark')).length).toBe(tiles.length > 0 ? 1 : 0);
    expect((await texts(`/keys/${id}`, '.head .mark')).length).toBe(tiles.length > 0 ? 1 : 0);
    expect(await texts(`/keys/${id}`, 'main .banner')).toHaveLength(tiles.length);
    return tiles;
  }
  const FOREIGN = ['1 key was used from elsewhere'];

  test('a write of the automation does not hide a use from elsewhere, and allowing the address ends it', async () => {
    const settings = await makeForeign();
    const { key, use, clock } = settings;
    expect(await use(HOME)).toBe(201);
    expect(await shown(settings, key)).toEqual(FOREIGN);
    clock.now += 60_000;
    const form = { name: 'n8n: triage', revision: '0' };
    await settings.post(`/keys/${key.id}/change`, { ...form, name: 'Other name', allowedNetworks: '203.0.113.0/24' });
    expect(await shown(settings, key)).toEqual(FOREIGN);
    const allowedNetworks = '203.0.113.0/24 198.51.100.9';
    await settings.post(`/keys/${key.id}/change`, { ...form, revision: '1', allowedNetworks });
    expect(await shown(settings, key)).toEqual([]);
    expect(await use(ELSEWHERE)).toBe(201);
  });

  test('a rotation ends a use from elsewhere before it, and a revocation all but lost writes', async () => {
    const settings = await makeForeign();
    const { organization, key, use, api } = settings;
    await settings.post(`/keys/${key.id}/rotate`, { token: crypto.randomUUID(), expires: 'none', grace: '24h' });
    expect(Object.keys(await attention(settings))).toEqual([]);
    await use(ELSEWHERE);
    expect(Object.keys(await attention(settings))).toEqual(FOREIGN);
    for (const message of ['a', 'b']) await api.postNote(key.value, { message }, { ...HOME, 'Idempotency-Key': 'e' });
    await api.settled();
    await revoke(organization, key.id);
    expect(Object.keys(await attention(settings))).toEqual([expect.stringContaining('1 write may be lost')]);
    expect((await settings.get('/refused')).text).toContain('Writes that may be lost');
  });

  /** A key that reached both of its daily limits, with two different requests. */
  async function makeLimited() {
    const clock = { now: Date.parse('2027-03-22T12:00:00Z') };
    const settings = await makeSettings({ now: () => clock.now });
    const { id, value } = await makeKey(settings.organization, { dayLimit: { records: 2, minutes: 30 } });
    const logTime = async (minutes: number) => {
      const { status } = await settings.api.postTime(value, { ...TIME, minutes });
      await settings.api.settled();
      clock.now += 1;
      return status;
    };
    expect([await logTime(20), await logTime(20), await logTime(5), await logTime(5)]).toEqual([201, 429, 201, 429]);
    const change = async (limits: Record<string, string>, revision = '0') => {
      await settings.post(`/keys/${id}/change`, { name: 'n8n: triage', revision, ...limits });
      clock.now += 1;
    };
    const open = async () =>
      (await readUsesOfKey({ ...asAdmin(settings.organization), now: () => clock.now }, id)).flatMap(
        ({ needsAttention, limitId }) => (needsAttention ? limitId : []),
      );
    return { ...settings, id, value, logTime, change, open };
  }

  test('each daily limit of a key has its own row, and a higher limit ends only the row that it admits', async () => {
    const settings = await makeLimited();
    const { id, value, api, get, change, open, logTime } = settings;
    expect(await open()).toEqual(['own:records', 'own:minutes']);
    const rows = async () =>
      (await elementsOf((await get('/refused')).text, '.refused tbody tr')).map(({ text }) =>
        text.replaceAll(/\s+/g, ' '),
      );
    expect(await rows()).toEqual([
      expect.stringMatching(/daily limit of new records was reached.*2 of 2 new records used; .* asked for 1\./),
      expect.stringMatching(/daily limit of minutes was reached.*25 of 30 minutes used; .* asked for 20\./),
    ]);
    const seen = async () => (await elementsOf((await get(`/keys/${id}/change`)).text, '.seen strong')).length;
    expect(await seen()).toBe(2);
    expect(Object.keys(await attention(settings))).toContain('1 key reached a daily limit');
    await change({ dayLimitRecords: '3', dayLimitMinutes: '30' });
    expect([await open(), await seen()]).toEqual([['own:minutes'], 1]);
    // A note needs no minutes.
    expect((await api.postNote(value)).status).toBe(201);
    expect(await open()).toEqual(['own:minutes']);
    // Too low for the request that was refused, because shorter time was admitted after it.
    await change({ dayLimitRecords: '9', dayLimitMinutes: '44' }, '1');
    expect(await open()).toEqual(['own:minutes']);
    await change({ dayLimitRecords: '9', dayLimitMinutes: '45' }, '2');
    expect(await open()).toEqual([]);
    expect((await rows()).map((row) => /daily limit of (.*) was reached.*Over since/.exec(row)?.[1])).toEqual([
      'new records',
      'minutes',
    ]);
    expect(await logTime(20)).toBe(201);
  });

  test('the file of refused uses has a row for each daily limit, on whichever page it begins', async () => {
    const { organization, id } = await makeLimited();
    const found: unknown[] = [];
    for (const cursor of [undefined, `${id}.daily_limit_reached.own:records`])
      for await (const { items } of everyRefusedUse(asAdmin(organization), cursor))
        found.push(items.map(({ limitId }) => limitId));
    expect(found).toEqual([['own:records', 'own:minutes'], ['own:minutes']]);
  });

  test.each(['a later write', 'a later write of the successor', 'a higher limit', 'midnight'])(
    'a reached daily limit ends with %s',
    async (end) => {
      const clock = { now: Date.parse('2027-03-22T12:00:00Z') };
      const settings = await makeSettings({ now: () => clock.now, timeZone: 'America/New_York' });
      const key = await makeKey(settings.organization, { dayLimit: { records: 1 } }, () => clock.now);
      for (const message of ['a', 'b']) await settings.api.postNote(key.value, { message });
      await settings.api.settled();
      expect(await listed(settings, '?fact=refused_daily_limit_reached')).toHaveLength(1);
      clock.now += 1;
      const form = { name: 'n8n: triage', revision: '0' };
      // As when the operator has raised the limit of all keys.
      const raise = () => env.DB.prepare('update api_keys set day_limit_records = 9 where id = ?').bind(key.id).run();
      const ends: Record<string, () => Promise<unknown>> = {
        'a later write': async () => {
          await raise();
          await settings.api.postNote(key.value, { message: 'c' });
        },
        'a later write of the successor': async () => {
          await raise();
          const { value } = await rotate(settings.organization, key.id, { grace: '24h' }, () => clock.now);
          expect(await listed(settings, '?fact=refused_daily_limit_reached')).toHaveLength(1);
          await settings.api.postNote(value, { message: 'c' });
        },
        'a higher limit': () => settings.post(`/keys/${key.id}/change`, { ...form, dayLimitRecords: '2' }),
        midnight: async () => {
          clock.now = Date.parse('2027-03-23T04:00:00Z') - 1;
          expect(await listed(settings, '?fact=refused_daily_limit_reached')).toHaveLength(1);
          clock.now += 1;
        },
      };
      await ends[end]?.();
      expect(await listed(settings, '?fact=refused_daily_limit_reached')).toEqual([]);
      expect(Object.keys(await attention(settings))).not.toContain('1 key reached a daily limit');
      const { text } = await settings.get('/refused');
      expect(/Over since <span[^>]*>00:00</.test(text)).toBe(end === 'midnight');
    },
  );

  test.each([
    ['technician_not_eligible', 422],
    ['ticket_not_found', 404],
  ] as const)('refused uses of the reason %s are listed, and need no attention', async (reason, status) => {
    const settings = await makeSettings();
    const { organization, api } = settings;
    const key = await makeKey(organization);
    const refused =
      reason === 'ticket_not_found'
        ? await api.postNote(key.value, undefined, {}, '9999')
        : await api.postTime(key.value, { ...TIME, userEmail: 'left@x.example' });
    expect(refused.status).toBe(status);
    await api.settled();
    expect(await rowsOf('refused_uses', organization)).toMatchObject([{ reason, count: 1 }]);
    expect(await countElements((await settings.get('/refused')).text, '.refused tbody tr')).toBe(1);
    expect(await attention(settings)).toEqual({});
  });
});

test('lost writes whose acknowledgement is lost are hidden by who hid them, and only an administrator hides them', async () => {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  const of = { organizationId: organization, keyId: id };
  const uses = { reason: 'idempotency_mismatch' as const, count: 2, sourceAddress: null };
  await recordRefusal(asAdmin(organization), of, { uses });
  const [use] = await readUsesOfKey(asAdmin(organization), id);
  const seen = { count: 2, lastAt: use?.lastAt ?? 0 };
  const db = committingTwice(env.DB);
  expect(await endLostWritesOf({ ...asAdmin(organization), db }, id, seen)).toBe(true);
  const by = (userId: string) => ({ ...asAdmin(organization), actor: { organizationId: organization, userId } });
  await importAdmin(organization, 'bea', 'Bea');
  expect(await endLostWritesOf(by('bea'), id, seen)).toBe(false);
  await expect(endLostWritesOf(by('former'), id, seen)).rejects.toMatchObject({ code: 'not_administrator' });
});
