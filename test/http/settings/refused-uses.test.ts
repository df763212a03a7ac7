import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { CRON_TRIGGERS, runJobs } from '../../../src/jobs.ts';
import { everyRefusedUse } from '../../../src/services/keys/refused-uses.ts';
import { countD1 } from '../../support/d1.ts';
import { countElements, csvRows, elementsOf } from '../../support/page.ts';
import { copyKey, makeSettings } from '../../support/settings.ts';
import { asAdmin, config, makeKey, makeOrganization, revoke, rowsOf, TIME } from '../../support/world.ts';

type Settings = Awaited<ReturnType<typeof makeSettings>>;

/** A revoked key of the organization that was used once since. */
async function makeRefused({ organization, api }: Settings, name = 'Revoked') {
  const key = await makeKey(organization, { name });
  await revoke(organization, key.id);
  expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(401);
  await api.settled();
  return key;
}

/** What needs attention in the list of keys: the address of the filtered list, and the words. */
async function attention({ base, get }: Settings): Promise<Record<string, string>> {
  const tiles = await elementsOf((await get('/keys')).text, '.attention a');
  return Object.fromEntries(
    tiles.map(({ attributes, text }) => [
      String(attributes['href']).replace(`${base}/keys`, ''),
      text.replaceAll(/\s+/g, ' ').trim(),
    ]),
  );
}

/** The names of the keys that a list shows. */
const listed = async ({ get }: Settings, filter: string) =>
  (await elementsOf((await get(`/keys${filter}`)).text, 'tbody th bdi')).map(({ text }) => text);

describe('a refused use of a key', () => {
  test('the administrator sees the use with its reason, while the caller gets the constant 401', async () => {
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization, { name: 'Half', scopes: ['tickets:note:write'] });
    const from = { 'CF-Connecting-IP': '192.0.2.5' };
    const refused = await api.postTime(key.value, undefined, from);
    const unknown = await api.postTime('twb_no', undefined, from);
    expect(await refused.text()).toBe(await unknown.text());
    await api.settled();
    expect(await rowsOf('refused_uses', organization)).toMatchObject([
      { key_id: key.id, reason: 'scope_missing', count: 1, source_address: '192.0.2.5' },
    ]);
    // The page of the key says it all in its banner.
    for (const [path, rows, banners] of [
      ['/refused', 1, 0],
      [`/keys/${key.id}`, 0, 1],
    ] as const) {
      const { text } = await get(path);
      expect([await countElements(text, 'tbody tr'), await countElements(text, '[role=alert]')]).toEqual([
        rows,
        banners,
      ]);
      expect(text).toContain('192.0.2.5');
    }
  });

  test('each use is counted, and recorded at most once a minute', async () => {
    let now = Date.now();
    const { organization, api } = await makeSettings({ now: () => now });
    const key = await makeKey(organization, { scopes: ['tickets:note:write'] });
    const use = async () => {
      await api.postTime(key.value);
      await api.settled();
      return (await rowsOf('refused_uses', organization)).map(({ count }) => count);
    };
    expect([await use(), await use()]).toEqual([[1], [1]]);
    now += 60_000;
    expect(await use()).toEqual([3]);
  });

  test('a use is recorded for a key without PSA, and for a reused Idempotency-Key', async () => {
    const { organization, api } = await makeSettings();
    const key = await makeKey(organization);
    const once = { 'Idempotency-Key': 'k' };
    await api.postNote(key.value, { message: 'a' }, once);
    const mismatch = await api.postNote(key.value, { message: 'b' }, once);
    expect(mismatch.headers.get('Idempotency-Mismatch')).toBe('true');
    await api.settled();
    expect(await rowsOf('refused_uses', organization)).toMatchObject([{ reason: 'idempotency_mismatch' }]);

    const poor = await makeSettings({ psa: false });
    expect((await poor.api.send('/api/v1/ping', { key: (await makeKey(poor.organization)).value })).status).toBe(403);
    await poor.api.settled();
    expect(await rowsOf('refused_uses', poor.organization)).toMatchObject([{ reason: 'psa_not_included' }]);
  });

  test('the tab shows how many keys and reasons need attention, on every page', async () => {
    const settings = await makeSettings();
    const tab = async (page: string) =>
      (await elementsOf((await settings.get(page)).text, '.tabs .mark')).map(({ text }) => text.trim());
    expect(await tab('/keys')).toEqual([]);
    await makeRefused(settings, 'First');
    await makeRefused(settings, 'Second');
    for (const page of ['/keys', '/audit', '/refused']) expect(await tab(page)).toEqual(['2']);
  });

  test('the five latest lost writes of a key are listed, without more writes than one a minute', async () => {
    let now = Date.parse('2027-03-22T03:30:05Z');
    const { organization, api, get } = await makeSettings({ now: () => now });
    const key = await makeKey(organization);
    const lose = async (event: number) => {
      const once = { 'Idempotency-Key': `triage:${event}` };
      await api.postNote(key.value, { message: 'earlier' }, once, '1001');
      const { headers } = await api.postNote(key.value, { message: 'other' }, once, event % 2 ? '1001' : '1002');
      await api.settled();
      now += 1_000;
      return headers.get('X-Request-Id');
    };
    const stored = async () => {
      const [use] = await rowsOf('refused_uses', organization);
      return [use?.['count'], String(use?.['lost_writes']).match(/triage:\d/g)];
    };
    const requests = [];
    for (const event of [1, 2, 3]) requests.push(await lose(event));
    expect(await stored()).toEqual([1, ['triage:1']]);
    now += 60_000;
    requests.push(await lose(4));
    expect(await stored()).toEqual([4, ['triage:4', 'triage:3', 'triage:2', 'triage:1']]);
    now += 60_000;
    for (const event of [5, 6]) requests.push(await lose(event));
    now += 60_000;
    requests.push(await lose(7));
    const expected = [
      `ticket 1001, Idempotency-Key triage:7, request ${requests[6]}`,
      `ticket 1002, Idempotency-Key triage:6, request ${requests[5]}`,
      `ticket 1001, Idempotency-Key triage:5, request ${requests[4]}`,
      `ticket 1002, Idempotency-Key triage:4, request ${requests[3]}`,
      `ticket 1001, Idempotency-Key triage:3, request ${requests[2]}`,
    ].map((line) => expect.stringContaining(line));
    for (const path of ['/refused', `/keys/${key.id}`]) {
      const lines = await elementsOf((await get(path)).text, '.lost li');
      expect(lines.map(({ text }) => text.replaceAll(/\s+/g, ' '))).toEqual(expected);
    }
    expect((await get('/refused.csv')).text).toContain(
      `2027-03-22 03:33:11 UTC: ticket 1001, Idempotency-Key triage:7, request ${requests[6]}; 2027`,
    );
  });

  test('the use loses its source address after 30 days, and keeps its count', async () => {
    const settings = await makeSettings();
    await makeRefused(settings);
    const [use] = await rowsOf('refused_uses', settings.organization);
    const lastAt = Number(use?.['last_at']);
    expect(use?.['source_address']).not.toBeNull();
    await runJobs(CRON_TRIGGERS.daily, {
      db: env.DB,
      config: config(),
      contributions: [],
      now: () => lastAt + 30 * DAY_MS,
    });
    expect(await rowsOf('refused_uses', settings.organization)).toEqual([use]);
    await runJobs(CRON_TRIGGERS.daily, {
      db: env.DB,
      config: config(),
      contributions: [],
      now: () => lastAt + 30 * DAY_MS + 1,
    });
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
      `"'=Old","${key.hint}","The key is revoked",1,${at},${at},"${use?.['source_address']}",`,
    ]);
    expect(text.split('\r\n')[0]).toBe(
      '"Key","Key hint","Reason","Count, at least","First (UTC)","First (UTC)","Last (UTC)","Last (UTC)","Last from","Latest lost writes"',
    );
  });

  test('the file contains all uses, and reads two rows for each', async () => {
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    await copyKey(organization, key.id, { prefix: '0-', count: 700 });
    await env.DB.prepare(
      `insert into refused_uses
       select organization_id, api_keys.id, value, 1, 1, 1, null, null, null from api_keys, json_each('["expired","revoked"]')
       where organization_id = ? and api_keys.id like '0-%'`,
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
      for (const use of items) found.add(`${use.key.id} ${use.reason}`);
    }
    expect([number, found.size, calls.length]).toEqual([1_400, 1_400, 3]);
    let rest = 0;
    for await (const { items } of everyRefusedUse(asAdmin(organization), second)) rest += items.length;
    expect(rest).toBe(900);
    expect(Math.max(...calls.map(({ rowsRead }) => rowsRead))).toBeLessThanOrEqual(1_010);
  });
});

describe('a revoked key that is still used', () => {
  test('the key needs attention until 7 days after its last use', async () => {
    let now = Date.now();
    const settings = await makeSettings({ now: () => now });
    await makeRefused(settings);
    const lastAt = now;
    for (const [ms, shown] of [
      [-1, ['Revoked']],
      [0, ['Revoked']],
      [1, []],
    ] as const) {
      now = lastAt + 7 * DAY_MS + ms;
      expect(Object.keys(await attention(settings))).toEqual(shown.length > 0 ? ['?fact=refused_revoked'] : []);
      expect(await listed(settings, '?fact=refused_revoked')).toEqual(shown);
    }
  });

  test('the key needs attention however many other uses were refused since', async () => {
    const settings = await makeSettings();
    const { organization } = settings;
    const key = await makeKey(organization);
    expect(await attention(settings)).toEqual({});
    await makeRefused(settings);
    await copyKey(organization, key.id, { prefix: 'other-', count: 120 });
    await env.DB.prepare(
      `insert into refused_uses
       select organization_id, id, 'expired', 1, ?2, ?2, null, null, null from api_keys where organization_id = ?1 and id like 'other-%'`,
    )
      .bind(organization, Date.now() + 1_000)
      .run();
    expect(await attention(settings)).toMatchObject({
      '?fact=refused_revoked': expect.stringContaining('1 revoked key is still in use'),
      '?fact=refused_expired': expect.stringContaining('120 expired keys are still in use'),
    });
  });
});

test('one key whose writes may be lost is shown by name and address, and several are counted together', async () => {
  const settings = await makeSettings();
  const loseWrite = async (name: string) => {
    const { value } = await makeKey(settings.organization, { name });
    const headers = { 'Idempotency-Key': name, 'CF-Connecting-IP': '192.0.2.5' };
    for (const message of ['a', 'b']) await settings.api.postNote(value, { message }, headers);
    await settings.api.settled();
    return (await attention(settings))['?fact=refused_idempotency_mismatch'];
  };
  expect(await loseWrite('First')).toBe('1 write may be lost“First”, at least 1 request, last just now from 192.0.2.5');
  expect(await loseWrite('Second')).toMatch(/^2 writes may be lost2 keys, at least 2 requests, last just now/);
});

test('each refused use needs attention with its number of writes, but no longer after its key is revoked', async () => {
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
  expect(await attention(settings)).toEqual({
    '?fact=refused_scope_missing': expect.stringContaining('1 key lacks a scope'),
    '?fact=refused_daily_limit_reached': expect.stringContaining('1 key reached a daily limit'),
    '?fact=refused_idempotency_mismatch': expect.stringContaining('1 write may be lost'),
  });
  expect(await listed(settings, '?fact=refused_scope_missing')).toEqual(['Notes']);
  expect(await listed(settings, '?fact=refused_daily_limit_reached')).toEqual(['Limited']);
  await revoke(organization, notes.id);
  await revoke(organization, limited.id);
  expect(Object.keys(await attention(settings))).toEqual(['?fact=refused_idempotency_mismatch']);
});

test('an expired key that is still used needs attention until it is revoked', async () => {
  let now = Date.now();
  const settings = await makeSettings({ now: () => now });
  const key = await makeKey(settings.organization, { expires: new Date(now + 60_000).toISOString() });
  now += 61_000;
  expect((await settings.api.send('/api/v1/ping', { key: key.value })).status).toBe(401);
  await settings.api.settled();
  expect(Object.keys(await attention(settings))).toEqual(['?fact=refused_expired']);
  await revoke(settings.organization, key.id);
  expect(await attention(settings)).toEqual({});
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

  /** The banners of the key's page, its marks, what the tiles link to, and the number on the tab. */
  async function shown(settings: Settings, { id }: { id: string }) {
    const texts = async (path: string, selector: string) =>
      (await elementsOf((await settings.get(path)).text, selector)).map(({ text }) =>
        text.replaceAll(/\s+/g, ' ').trim(),
      );
    const tiles = Object.keys(await attention(settings));
    expect(await texts('/keys', '.tabs .mark')).toEqual(tiles.length > 0 ? [String(tiles.length)] : []);
    for (const tile of tiles) expect(await listed(settings, tile)).toHaveLength(1);
    expect((await texts('/keys', '.keys td .mark')).length).toBe(tiles.length > 0 ? 1 : 0);
    expect((await texts(`/keys/${id}`, '.head .mark')).length).toBe(tiles.length > 0 ? 1 : 0);
    return { tiles, banners: await texts(`/keys/${id}`, 'main .banner') };
  }
  const FOREIGN = ['?fact=refused_address_not_allowed'];
  const settle = (settings: Settings, { id }: { id: string }, fields: Record<string, string>) =>
    settings.post(`/keys/${id}/settle`, fields);

  test('a write of the automation does not hide a use from elsewhere, and allowing the address ends it', async () => {
    const settings = await makeForeign();
    const { key, use, clock } = settings;
    expect(await use(HOME)).toBe(201);
    expect((await shown(settings, key)).tiles).toEqual(FOREIGN);
    clock.now += 60_000;
    const form = { name: 'n8n: triage', revision: '0' };
    await settings.post(`/keys/${key.id}/change`, { ...form, name: 'Other name', allowedNetworks: '203.0.113.0/24' });
    expect((await shown(settings, key)).tiles).toEqual(FOREIGN);
    const allowedNetworks = '203.0.113.0/24 198.51.100.9';
    await settings.post(`/keys/${key.id}/change`, { ...form, revision: '1', allowedNetworks });
    const repaired = 'Last refused 22 Mar 2027, 12:01 from 198.51.100.9. Repaired at 22 Mar 2027, 12:03, ';
    expect(await shown(settings, key)).toEqual({ tiles: [], banners: [`${repaired}no write since.`] });
    for (const address of [ELSEWHERE, HOME]) expect(await use(address)).toBe(201);
    expect((await shown(settings, key)).banners).toEqual([`${repaired}first write 22 Mar 2027, 12:04.`]);
  });

  test('“Not ours, seen” is audited with the address, and a later use is counted from 1', async () => {
    const settings = await makeForeign();
    const { organization, key, use } = settings;
    const fields = { reason: 'address_not_allowed', lastAt: String(settings.clock.now) };
    const hidden = await elementsOf((await settings.get(`/keys/${key.id}`)).text, '.banner input[type=hidden]');
    expect(hidden.map(({ attributes }) => [attributes['name'], attributes['value']])).toEqual(Object.entries(fields));
    // Refused again after the page was opened.
    await use(ELSEWHERE);
    expect((await settle(settings, key, fields)).notice).toContain('Not settled');
    const now = { ...fields, lastAt: String(settings.clock.now) };
    expect((await settle(settings, key, now)).notice).toContain('Settled');
    expect((await settle(settings, key, now)).notice).toContain('Not settled');
    const audited = (await rowsOf('audit_log', organization)).filter(({ action }) => action === 'api_key.settled');
    expect(audited.map(({ detail, target_id }) => [detail, target_id])).toEqual([
      ['Not ours, seen: 198.51.100.9', key.id],
    ]);
    expect((await shown(settings, key)).banners).toEqual([expect.stringMatching(/Settled at 22 Mar 2027, 12:02\.$/)]);
    await use(ELSEWHERE);
    expect((await shown(settings, key)).tiles).toEqual(FOREIGN);
    expect(await rowsOf('refused_uses', organization)).toMatchObject([{ count: 1, first_at: settings.clock.now }]);
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
    expect(Object.keys(await attention(settings))).toEqual(['?fact=refused_idempotency_mismatch']);
    const lost = { reason: 'idempotency_mismatch', lastAt: String(settings.clock.now) };
    expect((await settle(settings, key, lost)).notice).toContain('Settled');
    expect(Object.keys(await attention(settings))).toEqual([]);
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({
      action: 'api_key.settled',
      detail: 'Entered by hand: ticket 1001',
    });
  });

  test.each(['a later write', 'a higher limit', 'midnight'])('a reached daily limit ends with %s', async (end) => {
    const clock = { now: Date.parse('2027-03-22T12:00:00Z') };
    const settings = await makeSettings({ now: () => clock.now, timeZone: 'America/New_York' });
    const key = await makeKey(settings.organization, { dayLimit: { minutes: 30 } }, () => clock.now);
    for (const minutes of [20, 20]) await settings.api.postTime(key.value, { ...TIME, minutes });
    await settings.api.settled();
    expect(await listed(settings, '?fact=refused_daily_limit_reached')).toHaveLength(1);
    clock.now += 1;
    const form = { name: 'n8n: triage', revision: '0' };
    const ends: Record<string, () => Promise<unknown>> = {
      'a later write': () => settings.api.postTime(key.value, { ...TIME, minutes: 10 }),
      'a higher limit': () => settings.post(`/keys/${key.id}/change`, { ...form, dayLimitMinutes: '40' }),
      midnight: async () => {
        clock.now = Date.parse('2027-03-23T04:00:00Z') - 1;
        expect(await listed(settings, '?fact=refused_daily_limit_reached')).toHaveLength(1);
        clock.now += 1;
      },
    };
    await ends[end]?.();
    expect(await listed(settings, '?fact=refused_daily_limit_reached')).toEqual([]);
    expect(Object.keys(await attention(settings))).not.toContain('?fact=refused_daily_limit_reached');
  });

  test('only an administrator settles, and only what a person can settle', async () => {
    const settings = await makeForeign();
    const { organization, key } = settings;
    await env.DB.prepare("update refused_uses set reason = 'scope_missing' where organization_id = ?")
      .bind(organization)
      .run();
    for (const reason of ['scope_missing', 'address_not_allowed', 'x'])
      expect((await settle(settings, key, { reason, lastAt: String(settings.clock.now) })).notice).toContain(
        'Not settled',
      );
    expect(await rowsOf('refused_uses', organization)).toMatchObject([{ ends_at: null }]);
  });
});
