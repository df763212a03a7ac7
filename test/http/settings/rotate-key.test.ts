import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { countElements, elementsOf } from '../../support/page.ts';
import { auditedActions, keyIn, makeSettings } from '../../support/settings.ts';
import { BOTH_SCOPES, makeKey, rotate, rowsOf } from '../../support/world.ts';

const HOUR_MS = 3_600_000;

/** A settings area with a key that was rotated by the form with these fields. */
async function makeRotated(
  fields: Record<string, string>,
  key: Parameters<typeof makeKey>[1] = {},
  clock?: { now: number },
) {
  const now = () => clock?.now ?? Date.now();
  const settings = await makeSettings({ now });
  const old = await makeKey(settings.organization, key, now);
  if (clock) {
    await settings.api.postNote(old.value, undefined, { 'Idempotency-Key': 'report:1', 'User-Agent': 'curl/8' });
    clock.now += HOUR_MS;
  }
  const form = { token: crypto.randomUUID(), expires: 'none', ...fields };
  const { text } = await settings.post(`/keys/${old.id}/rotate`, form);
  const rows = await rowsOf('api_keys', settings.organization);
  const rowOf = (isOld: boolean) => rows.find(({ id }) => (id === old.id) === isOld) ?? {};
  return { ...settings, old, successor: keyIn(text), oldRow: rowOf(true), newRow: rowOf(false) };
}

describe('rotating a key', () => {
  test('both keys work through the grace period', async () => {
    const { organization, api, get, old, successor } = await makeRotated({ grace: '1h' });
    expect((await get(`/keys/${old.id}`)).text).toContain('(in 59 min)');
    expect((await api.postNote(old.value)).status).toBe(201);
    expect((await api.send('/api/v1/ping', { key: successor })).status).toBe(200);
    expect(await auditedActions(organization)).toEqual([
      'api_key.created',
      'api_key.rotated',
      'api_key.created',
      'note.created',
    ]);
  });

  test('the successor gets the name, scopes and limits of the old key, but not its expiry', async () => {
    const expires = new Date(Date.now() + DAY_MS).toISOString();
    const { organization, api, successor, newRow } = await makeRotated(
      { grace: '1h' },
      { dayLimit: { records: 20, minutes: 60 }, expires },
    );
    expect(newRow).toMatchObject({ day_limit_records: 20, day_limit_minutes: 60 });
    const ping = await api.send('/api/v1/ping', { key: successor });
    expect(await ping.json()).toEqual({
      ok: true,
      organizationId: organization,
      keyName: 'n8n: triage',
      scopes: BOTH_SCOPES,
    });
    expect(ping.headers.get('Api-Key-Expires-At')).toBeNull();
  });

  test('the old key ends with the grace period, and never later than its own expiry', async () => {
    const graced = await makeRotated({ grace: '24h' });
    expect(Math.abs(Number(graced.oldRow['expires_at']) - Date.now() - DAY_MS)).toBeLessThan(60_000);
    const soon = new Date(Date.now() + HOUR_MS).toISOString();
    const short = await makeRotated({ grace: '7d' }, { expires: soon });
    expect(short.oldRow['expires_at']).toBe(Date.parse(soon));
  });

  test('a rotation without a grace period revokes the old key in the same transaction', async () => {
    const { organization, api, old, successor } = await makeRotated({ grace: 'now' });
    expect((await api.send('/api/v1/ping', { key: old.value })).status).toBe(401);
    expect((await api.send('/api/v1/ping', { key: successor })).status).toBe(200);
    expect(await auditedActions(organization)).toEqual([
      'api_key.created',
      'api_key.rotated',
      'api_key.created',
      'api_key.revoked',
    ]);
  });
});

describe('the form for a rotation', () => {
  test('the form proposes the old lifetime, or 90 days if the key never expires', async () => {
    const { organization, get, post } = await makeSettings();
    const expires = new Date(Date.now() + 60 * DAY_MS).toISOString().slice(0, 10);
    const ending = await makeKey(organization, { expires });
    const preset = (await get(`/keys/${ending.id}/rotate`)).text;
    expect(await elementsOf(preset, '[name=expires][checked]')).toMatchObject([{ attributes: { value: 'date' } }]);
    expect(await elementsOf(preset, '[name=date]')).toMatchObject([{ attributes: { value: expires } }]);
    expect(await countElements(preset, `a[href$="/keys/${ending.id}/replace"]`)).toBe(1);

    const endless = await makeKey(organization);
    const open = (await get(`/keys/${endless.id}/rotate`)).text;
    expect(await elementsOf(open, '[name=expires][checked]')).toMatchObject([{ attributes: { value: '90' } }]);
    expect(await countElements(open, '[name=expires][required]')).toBe(5);
    const unanswered = await post(`/keys/${endless.id}/rotate`, {
      token: crypto.randomUUID(),
      expires: 'date',
      grace: '1h',
    });
    expect([unanswered.status, await countElements(unanswered.text, '#expires-error')]).toEqual([400, 1]);
  });

  test('the form creates one successor, however often it is sent', async () => {
    const { organization, old, post, get } = await makeRotated({ grace: '1h' });
    const fields = { expires: 'none', grace: '1h' };
    expect((await post(`/keys/${old.id}/rotate`, { ...fields, token: crypto.randomUUID() })).status).toBe(409);
    expect((await get(`/keys/${old.id}/rotate`)).status).toBe(409);
    const another = await makeKey(organization);
    const token = crypto.randomUUID();
    const answers = await Promise.all([1, 2, 3].map(() => post(`/keys/${another.id}/rotate`, { ...fields, token })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 303, 303]);
    expect(await rowsOf('api_keys', organization)).toHaveLength(4);
  });
});

test('the page of an expired key offers its replacement only if the key has no successor', async () => {
  const { organization, get } = await makeSettings();
  const then = Date.now() - 2 * HOUR_MS;
  const at = () => then;
  const { id: ended } = await makeKey(organization, { expires: new Date(then + 60_000).toISOString() }, at);
  const { id: rotated } = await makeKey(organization, {}, at);
  await rotate(organization, rotated, { grace: '1h' }, at);
  const offered = async (id: string) =>
    (await elementsOf((await get(`/keys/${id}`)).text, '.head-actions a')).map(({ text }) => text.trim());
  expect(await offered(ended)).toEqual(['Create its replacement']);
  expect(await offered(rotated)).toEqual(['Duplicate']);
});

describe('after a rotation', () => {
  /** A rotated key that a report used an hour before, and how workflows write with both keys. */
  async function makeUsed() {
    const clock = { now: Date.now() - HOUR_MS };
    const rotated = await makeRotated({ grace: '24h' }, {}, clock);
    clock.now += 1_000;
    const { api, get } = rotated;
    const write = (key: string, event: string, agent: string) =>
      api.postNote(key, { message: 'x' }, { 'Idempotency-Key': event, 'User-Agent': agent });
    const wordsOf = async (path: string, selector: string) =>
      (await elementsOf((await get(path)).text, selector)).map(({ text }) => text.replaceAll(/\s+/g, ' ').trim());
    /** The columns of a page's banner about the rotation, with the hints of the keys left out. */
    const usesOn = async (path: string) =>
      (await wordsOf(path, '.uses > div')).map((text) => text.replace(/ twb_\S{4}…\S{4}/, ': '));
    const oldPage = `/keys/${rotated.old.id}`;
    const newPage = `/keys/${rotated.newRow['id']}`;
    return { ...rotated, clock, write, wordsOf, usesOn, oldPage, newPage };
  }

  test('the pages of both keys show which workflows still use the old key, and which have moved', async () => {
    const { clock, old, successor, write, wordsOf, usesOn, oldPage, newPage } = await makeUsed();
    const headOf = async (path: string) => (await wordsOf(path, '.banner.neutral strong'))[0]?.split(': ')[1];
    const cell = `td[data-label=Workflows]`;
    const report = 'report (curl), 1 write, 1 h ago';
    expect(await wordsOf(`${oldPage}/revoke`, cell)).toEqual([`Only before the rotation${report}`]);
    await write(old.value, 'triage:1', 'n8n/1.70 (linux)');
    await write(old.value, 'triage:2', 'n8n/1.71');
    await write(old.value, 'onboard', 'Make Integration');
    const both = ['no prefix (Make), 1 write, just now', 'triage (n8n), 2 writes, just now'];
    expect(await usesOn(oldPage)).toEqual([
      `This key: 3 writes${both.join('')}`,
      'New key: 0 writes',
      `Only before the rotation${report}`,
    ]);
    expect(await usesOn(newPage)).toEqual([
      `Old key: 3 writes${both.join('')}`,
      'This key: 0 writes',
      `Only before the rotation${report}`,
    ]);
    for (const page of [oldPage, newPage]) {
      expect(await headOf(page)).toBe('0 of 3 workflows moved');
      expect(await wordsOf(page, '.banner.neutral button')).toEqual(['Revoke the old key now']);
    }
    // One workflow a line.
    expect(await wordsOf(`${oldPage}/revoke`, `${cell} li`)).toEqual([...both, report]);
    await write(successor, 'triage:3', 'n8n/1.71');
    expect(await usesOn(newPage)).toEqual([
      'Old key: 3 writesno prefix (Make), 1 write, just now',
      'This key: 1 writetriage (n8n), 1 write, just now',
      `Only before the rotation${report}`,
    ]);
    expect(await headOf(oldPage)).toBe('1 of 3 workflows moved');
    expect(await wordsOf(newPage, '.facts dd')).toContain('triage (n8n), just now');
    expect(await wordsOf(`${oldPage}/revoke`, cell)).toEqual([
      `Still use this keyno prefix (Make), 1 write, just nowOnly before the rotation${report}Moved to the new keytriage (n8n), just now`,
    ]);
    expect(await wordsOf(`${newPage}/revoke`, cell)).toEqual(['triage (n8n), just now']);
    clock.now += 1_000;
    // It went back to the old key, and the last one has moved.
    await write(old.value, 'triage:4', 'n8n/1.71');
    await write(successor, 'report:2', 'curl/8');
    expect(await usesOn(oldPage)).toEqual([
      'This key: 4 writestriage (n8n), 3 writes, just nowno prefix (Make), 1 write, just now',
      'New key: 2 writesreport (curl), 1 write, just now',
    ]);
    expect(await headOf(oldPage)).toBe('1 of 3 workflows moved');
  });

  test('writes without a prefix can be of several workflows, so that none of these has moved', async () => {
    const { clock, old, successor, write, usesOn, oldPage, wordsOf } = await makeUsed();
    await write(old.value, 'a', 'n8n/1.71');
    clock.now += 1_000;
    await write(successor, 'b', 'n8n/1.71');
    expect((await usesOn(oldPage)).slice(0, 2)).toEqual([
      'This key: 1 writeno prefix (n8n), 1 write, just now',
      'New key: 1 writeno prefix (n8n), 1 write, just now',
    ]);
    expect((await wordsOf(oldPage, '.banner.neutral strong'))[0]).toMatch(/: 0 of 2 workflows moved$/);
  });

  test('after more writes than are examined, more workflows can use the old key than are counted', async () => {
    const { organization, old, successor, write, wordsOf, newPage } = await makeUsed();
    await env.DB.prepare(
      `insert into audit_log select ?1, (select max(seq) from audit_log where organization_id = ?1) + 1 + value, 1, 'api_key', ?2, 'n8n',
         'note.created', 'r' || value, '1001', 'q', 'triage:' || value, null, 'n8n/1.71', null, '', 0, 0 from json_each(?3)`,
    )
      .bind(organization, old.id, JSON.stringify(Array.from({ length: 1_000 }, (_, index) => index)))
      .run();
    await write(successor, 'triage:last', 'n8n/1.71');
    expect((await wordsOf(newPage, '.banner.neutral strong'))[0]).toMatch(/: 1 of at least 1 workflow moved$/);
  });

  test('the forms and the page of the new key say which workflows use the old one', async () => {
    const { organization, api, get, post } = await makeSettings();
    const { id, value } = await makeKey(organization);
    for (const event of ['onboard:1', 'report:1'])
      await api.postNote(value, undefined, { 'Idempotency-Key': event, 'User-Agent': 'n8n/1.70' });
    const words = /Used by(onboard|report) \(n8n\), just now(onboard|report) \(n8n\), just now/;
    const textOf = (page: string) => page.replaceAll(/<[^>]*>/g, '');
    for (const path of ['rotate', 'replace']) expect(textOf((await get(`/keys/${id}/${path}`)).text)).toMatch(words);
    const fields = { expires: 'none', grace: '1h', token: crypto.randomUUID() };
    expect(textOf((await post(`/keys/${id}/rotate`, fields)).text)).toMatch(words);
  });

  test('if the new key is revoked, both pages offer its replacement, and neither to revoke the old key', async () => {
    const { base, get, post, wordsOf, oldPage, newPage, newRow } = await makeUsed();
    await post(`${newPage}/revoke`, {});
    expect((await wordsOf(oldPage, '.banner.warning strong'))[0]).toBe(
      'The new key is revoked; this one stops in 23 h.',
    );
    expect((await wordsOf(newPage, '.banner.warning strong'))[0]).toBe(
      'This key is revoked; the old one stops in 23 h.',
    );
    for (const path of [oldPage, newPage]) {
      const { text } = await get(path);
      expect(text).not.toContain('Revoke the old key now');
      const [link] = await elementsOf(text, '.banner.warning a');
      expect(link).toMatchObject({
        text: expect.stringContaining('Create its replacement'),
        attributes: { href: `${base}/keys/${newRow['id']}/replace` },
      });
    }
    expect((await get(newPage)).text).toContain('No writes in the last 24 hours.');
    const form = await get(`${newPage}/replace`);
    expect(await elementsOf(form.text, '[name=name]')).toMatchObject([{ attributes: { value: 'n8n: triage' } }]);
  });

  test('after the end of the old key its rotation is not shown', async () => {
    const { get, old, newRow } = await makeRotated({ grace: 'now' });
    for (const id of [old.id, newRow['id']])
      expect(await countElements((await get(`/keys/${id}`)).text, '.banner.neutral')).toBe(0);
  });
});
