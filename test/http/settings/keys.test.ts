import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { daily } from '../../../src/daily.ts';
import { aroundD1, countD1 } from '../../support/d1.ts';
import { keyIn, makeSettings as makeArea } from '../../support/settings.ts';
import { BOTH_SCOPES, importRecords, makeApi, makeKey, revoke, rowsOf } from '../../support/world.ts';

const DAY_MS = 24 * 3_600_000;
const GOOD = { name: 'n8n prod', scope: 'tickets:note:write', expiration: 'none' };

/** A settings area, and its form for a new key. */
async function makeSettings(options: Parameters<typeof makeArea>[0] = {}) {
  const area = await makeArea(options);
  /** Sends the form for a new key with a fresh token. */
  const create = (fields: Record<string, string | string[]> = {}) =>
    area.post('/keys', { token: crypto.randomUUID(), ...GOOD, ...fields });
  return { ...area, create };
}

const actions = async (organization: string) => (await rowsOf('audit_log', organization)).map(({ action }) => action);

describe('creating a key', () => {
  test('shows the value once, works at once, and is audited with the administrator’s and the key’s name', async () => {
    const { organization, api, create, get } = await makeSettings();
    const answer = await create({ scope: BOTH_SCOPES, limit: '50' });
    expect(answer.status).toBe(200);
    const key = keyIn(answer.text);
    expect((await api.postNote(key)).status).toBe(201);
    expect((await api.send('/api/v1/ping', { key })).headers.get('RateLimit-Policy')).toBe('"key";q=50;w=10');
    expect(answer.text).toContain(`curl https://api.example/api/v1/ping -H &#39;Authorization: Bearer ${key}&#39;`);
    expect(answer.text).toContain('Bearer Auth');
    const [stored] = await rowsOf('api_keys', organization);
    for (const path of ['/keys', `/keys/${stored?.['id']}`, '/audit', '/keys.csv', '/audit.csv']) {
      const { text } = await get(path);
      expect(text).toContain('n8n prod');
      expect(text).not.toContain(key);
    }
    expect(JSON.stringify(stored)).not.toContain(key);
    expect(await actions(organization)).toEqual(['api_key.created', 'note.created']);
  });

  test.each([
    ['none', null],
    ['30', 30],
    ['365', 365],
  ])('an expiration of %s is reckoned to the end of the day where the organization is', async (expiration, days) => {
    // 21 March, 23:30 in New York: already the 22nd in UTC.
    const now = Date.parse('2027-03-22T03:30:00Z');
    const { organization, create } = await makeSettings({ timeZone: 'America/New_York', now: () => now });
    await create({ expiration });
    const end = days === null ? null : Date.parse('2027-03-22T04:00:00Z') + days * DAY_MS;
    const [row] = await rowsOf('api_keys', organization);
    expect(row?.['expires_at']).toBe(end);
  });

  test('says everything that is wrong at once, beside the fields, and keeps what was typed', async () => {
    const { organization, create } = await makeSettings();
    const answer = await create({ name: ' ', scope: [], expiration: 'date', date: '2027-02-30', limit: '0' });
    expect(answer.status).toBe(400);
    for (const id of ['name', 'scopes', 'expiration', 'limit']) expect(answer.text).toContain(`id="${id}-error"`);
    const again = await create({ name: 'My "workflow"', expiration: 'date', date: '2001-01-01' });
    expect(again.text).toContain('value="My &quot;workflow&quot;"');
    expect(again.text).toContain('value="2001-01-01"');
    expect(again.text).toContain('This date has passed');
    expect((await create({ expiration: 'date', date: '9999-12-31' })).text).toContain(
      'A key lives for ten years at most',
    );
    expect(await rowsOf('api_keys', organization)).toEqual([]);
  });

  test.each([
    ['a date without “On a date”', { expiration: '30', date: '2027-12-31' }],
    ['a limit above the deployment’s', { limit: '201' }],
    ['a limit that is not a number', { limit: '1e2' }],
    ['an expiration that is not offered', { expiration: '7' }],
    ['a scope that does not exist', { scope: 'tickets:read' }],
    ['a name of 101 characters', { name: 'x'.repeat(101) }],
    ['a name with NUL', { name: 'a\0b' }],
  ])('refuses %s', async (_, fields) => {
    const { organization, create } = await makeSettings();
    expect((await create(fields)).status).toBe(400);
    expect(await rowsOf('api_keys', organization)).toEqual([]);
  });

  test('a form sent twice, even at once, makes one key, and says what can be done', async () => {
    const { organization, post } = await makeSettings();
    const fields = { token: crypto.randomUUID(), ...GOOD };
    const answers = await Promise.all([
      post('/keys', fields),
      post('/keys', fields),
      post('/keys', { ...fields, name: 'Other' }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const late = await post('/keys', fields);
    expect(late.status).toBe(409);
    expect(late.text).toMatch(/created the key.*already.*Rotate.*Revoke/s);
    expect(late.text).not.toMatch(/twb_[0-9A-Za-z]{46}/);
    expect(await rowsOf('api_keys', organization)).toHaveLength(1);
    expect(await actions(organization)).toEqual(['api_key.created']);
  });

  test('a name is unique among current keys, and free again when its key is revoked', async () => {
    const { organization, create } = await makeSettings();
    await create();
    const taken = await create({ name: ' n8n prod ' });
    expect(taken.status).toBe(400);
    expect(taken.text).toContain('Another key has this name');
    const [first] = await rowsOf('api_keys', organization);
    await revoke(organization, String(first?.['id']));
    expect((await create()).status).toBe(200);
  });

  test('an organization has at most 100 live keys; expired and revoked ones do not count', async () => {
    const { organization, create } = await makeSettings();
    const key = await makeKey(organization);
    await env.DB.prepare(
      `insert into api_keys select organization_id, 'copy-' || value, chain_id, name || value, printf('a%063d', value), hint, scopes,
       null, null, created_at, created_by, iif(value > 98, 1, null), null, null, null, null
       from api_keys, json_each(?) where organization_id = ? and api_keys.id = ?`,
    )
      .bind(JSON.stringify(Array.from({ length: 150 }, (_, i) => i)), organization, key.id)
      .run();
    const full = await create();
    expect(full.status).toBe(400);
    expect(full.text).toContain('100 live keys');
    await revoke(organization, key.id);
    expect((await create()).status).toBe(200);
  });
});

describe('rotating a key', () => {
  async function makeRotated(fields: Record<string, string>, key: Parameters<typeof makeKey>[1] = {}) {
    const settings = await makeSettings();
    const old = await makeKey(settings.organization, key);
    const answer = await settings.post(`/keys/${old.id}/rotate`, {
      token: crypto.randomUUID(),
      expiration: 'none',
      ...fields,
    });
    return { ...settings, old, answer, successor: keyIn(answer.text) };
  }

  test('both keys work through the grace period; the successor has name, scopes and limit of the old one', async () => {
    const { organization, api, old, successor, get } = await makeRotated(
      { grace: '1h' },
      { limit: { quota: 9, windowMs: 10_000 } },
    );
    expect((await api.postNote(old.value)).status).toBe(201);
    const ping = await api.send('/api/v1/ping', { key: successor });
    expect(await ping.json()).toEqual({
      ok: true,
      organizationId: organization,
      keyName: 'n8n: triage',
      scopes: BOTH_SCOPES,
    });
    expect(ping.headers.get('RateLimit-Policy')).toBe('"key";q=9;w=10');
    expect(ping.headers.get('Api-Key-Expires-At')).toBeNull();
    const rows = await rowsOf('api_keys', organization);
    const next = rows.find(({ id }) => id !== old.id);
    expect(rows.find(({ id }) => id === old.id)).toMatchObject({ successor_id: next?.['id'], revoked_at: null });
    expect(await actions(organization)).toEqual([
      'api_key.created',
      'api_key.rotated',
      'api_key.created',
      'note.created',
    ]);
    expect((await get(`/keys/${old.id}`)).text).toContain(`href="/settings/${organization}/keys/${next?.['id']}"`);
    expect((await get(`/keys/${next?.['id']}`)).text).toContain(`href="/settings/${organization}/keys/${old.id}"`);
  });

  test('the old key ends with the grace period, and never later than it would have anyway', async () => {
    const graced = await makeRotated({ grace: '24h' });
    const [old] = (await rowsOf('api_keys', graced.organization)).filter(({ id }) => id === graced.old.id);
    expect(Math.abs(Number(old?.['expires_at']) - Date.now() - DAY_MS)).toBeLessThan(60_000);
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const short = await makeRotated({ grace: '7d' }, { expires: soon });
    const [ending] = (await rowsOf('api_keys', short.organization)).filter(({ id }) => id === short.old.id);
    expect(ending?.['expires_at']).toBe(Date.parse(soon));
  });

  test('“revoke now” revokes the old key in the same transaction', async () => {
    const { organization, api, old, successor } = await makeRotated({ grace: 'now' });
    expect((await api.send('/api/v1/ping', { key: old.value })).status).toBe(401);
    expect((await api.send('/api/v1/ping', { key: successor })).status).toBe(200);
    expect(await actions(organization)).toEqual([
      'api_key.created',
      'api_key.rotated',
      'api_key.created',
      'api_key.revoked',
    ]);
  });

  test('the successor’s expiry is asked for: the old lifetime is preset, and for a key without one nothing is', async () => {
    const { organization, get, post } = await makeSettings();
    const expires = new Date(Date.now() + 60 * DAY_MS).toISOString().slice(0, 10);
    const ending = await makeKey(organization, { expires });
    const preset = new RegExp(`value="date" selected.*name="date" value="${expires}"`, 's');
    expect((await get(`/keys/${ending.id}/rotate`)).text).toMatch(preset);
    const endless = await makeKey(organization);
    expect((await get(`/keys/${endless.id}/rotate`)).text).toContain('<option value="">Choose…</option>');
    const unsaid = await post(`/keys/${endless.id}/rotate`, {
      token: crypto.randomUUID(),
      expiration: '',
      grace: '1h',
    });
    expect(unsaid.status).toBe(400);
    expect(unsaid.text).toContain('id="expiration-error"');
  });

  test('a key has one successor: rotating again, and the same form again, make none', async () => {
    const { organization, old, post, get } = await makeRotated({ grace: '1h' });
    const fields = { expiration: 'none', grace: '1h' };
    expect((await post(`/keys/${old.id}/rotate`, { ...fields, token: crypto.randomUUID() })).status).toBe(409);
    expect((await get(`/keys/${old.id}/rotate`)).status).toBe(409);
    const another = await makeKey(organization);
    const token = crypto.randomUUID();
    const answers = await Promise.all([1, 2, 3].map(() => post(`/keys/${another.id}/rotate`, { ...fields, token })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    expect(await rowsOf('api_keys', organization)).toHaveLength(4);
  });

  test('an expired or revoked key can’t be rotated or changed', async () => {
    const { organization, post, get } = await makeSettings();
    const revoked = await makeKey(organization);
    await revoke(organization, revoked.id);
    const expired = await makeKey(organization, { expires: '2026-01-01' }, () => Date.parse('2025-12-01'));
    for (const { id } of [revoked, expired]) {
      expect((await get(`/keys/${id}/rotate`)).status).toBe(409);
      expect((await get(`/keys/${id}/change`)).status).toBe(409);
      const rotated = await post(`/keys/${id}/rotate`, { token: crypto.randomUUID(), expiration: 'none', grace: '1h' });
      expect(rotated.status).toBe(409);
      expect((await post(`/keys/${id}/change`, { name: 'New' })).status).toBe(409);
    }
    expect(await rowsOf('api_keys', organization)).toHaveLength(2);
  });
});

test('an expired key holds its name until it is revoked, which its page offers', async () => {
  const { organization, create, get, post } = await makeSettings();
  const expired = await makeKey(organization, { name: GOOD.name, expires: '2026-01-01' }, () =>
    Date.parse('2025-12-01'),
  );
  expect((await create()).status).toBe(400);
  const { text, base } = {
    ...(await get(`/keys/${expired.id}`)),
    base: `/settings/${organization}/keys/${expired.id}`,
  };
  expect(text).toContain(`"${base}/revoke"`);
  for (const page of ['rotate', 'change']) expect(text).not.toContain(`"${base}/${page}"`);
  expect((await post(`/keys/${expired.id}/revoke`, {})).status).toBe(303);
  expect((await get(`/keys/${expired.id}`)).text).not.toContain(`"${base}/revoke"`);
  expect((await create()).status).toBe(200);
});

describe('changing a key', () => {
  type Area = Awaited<ReturnType<typeof makeSettings>>;

  /** The hidden fields of the form as it is opened now: what it shows. */
  async function openForm({ get }: Area, id: string): Promise<Record<string, string>> {
    const { text } = await get(`/keys/${id}/change`);
    return Object.fromEntries(
      [...text.matchAll(/name="(shown_\w+)" value="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]),
    );
  }

  const change = async (area: Area, id: string, typed: Record<string, string>) =>
    area.post(`/keys/${id}/change`, { ...(await openForm(area, id)), ...typed });

  test('renames and lowers the limit from the next request on, audited from what to what', async () => {
    const area = await makeSettings();
    const { organization, api } = area;
    const key = await makeKey(organization);
    const answer = await change(area, key.id, { name: 'Zapier', limit: '5' });
    expect([answer.status, answer.location]).toEqual([303, `/settings/${organization}/keys/${key.id}?done=changed`]);
    const ping = await api.send('/api/v1/ping', { key: key.value });
    expect(await ping.json()).toMatchObject({ keyName: 'Zapier' });
    expect(ping.headers.get('RateLimit-Policy')).toBe('"key";q=5;w=10');
    const entry = (await rowsOf('audit_log', organization)).at(-1);
    expect(entry).toMatchObject({
      action: 'api_key.changed',
      detail: 'name "n8n: triage" to "Zapier", limit default to 5/10s',
    });
    expect((await change(area, key.id, { name: 'Zapier', limit: '5' })).location).toContain('done=unchanged');
  });

  test('keeps the window of the key’s own limit', async () => {
    const area = await makeSettings();
    const { organization, get } = area;
    const { id } = await makeKey(organization, { limit: { quota: 300, windowMs: 5_000 } });
    expect((await get(`/keys/${id}/change`)).text).toContain('Requests in 5 seconds');
    const limit = async () =>
      (await rowsOf('api_keys', organization)).map((row) => [row['limit_quota'], row['limit_window_ms']]);
    for (const [typed, kept] of [
      ['300', [300, 5_000]],
      ['200', [200, 5_000]],
      ['7', [7, 5_000]],
      ['', [null, null]],
    ] as const) {
      expect((await change(area, id, { name: 'Renamed', limit: typed })).status).toBe(303);
      expect(await limit()).toEqual([kept]);
    }
  });

  test('refuses a name that another current key has', async () => {
    const area = await makeSettings();
    const { organization } = area;
    const [key, other] = [await makeKey(organization), await makeKey(organization, { name: 'Other' })];
    expect((await change(area, key.id, { name: 'Other' })).status).toBe(400);
    await revoke(organization, other.id);
    expect((await change(area, key.id, { name: 'Other' })).status).toBe(303);
  });

  test('does not undo what somebody else has changed since the form was opened', async () => {
    const area = await makeSettings();
    const { organization, post } = area;
    const { id } = await makeKey(organization);
    const [first, second] = [await openForm(area, id), await openForm(area, id)];
    expect((await post(`/keys/${id}/change`, { ...first, name: 'n8n: triage', limit: '3' })).status).toBe(303);
    const late = await post(`/keys/${id}/change`, { ...second, name: 'Renamed', limit: '' });
    expect(late.status).toBe(409);
    expect(late.text).toContain('The key was changed after you opened the form, so nothing was saved.');
    expect(await rowsOf('api_keys', organization)).toMatchObject([{ name: 'n8n: triage', limit_quota: 3 }]);
    // The same form again, by a second click, is no other change.
    expect((await post(`/keys/${id}/change`, { ...first, name: 'n8n: triage', limit: '3' })).location).toContain(
      'done=changed',
    );
    expect((await rowsOf('audit_log', organization)).filter(({ action }) => action === 'api_key.changed')).toHaveLength(
      1,
    );
  });

  test.each([{}, { shown_name: 'x' }, { shown_name: 'x', shown_limit: '0/1s' }])(
    'refuses a form that does not say what it has shown: %j',
    async (form) => {
      const { organization, post } = await makeSettings();
      const { id } = await makeKey(organization);
      const answer = await post(`/keys/${id}/change`, { name: 'Renamed', ...form });
      expect([answer.status, answer.text.includes('Incomplete form')]).toEqual([400, true]);
    },
  );
});

describe('what a page says was done', () => {
  test('is said only while it is true', async () => {
    const { organization, get, post } = await makeSettings();
    const { id } = await makeKey(organization);
    const untrue = [
      `/keys/${id}?done=revoked`,
      `/keys/${id}?done=already_revoked`,
      '/keys?done=all_revoked',
      `/keys/${id}?done=constructor`,
    ];
    for (const address of untrue) expect((await get(address)).text).not.toContain('role="status"');
    expect((await post('/revoke-all', {})).location).toContain('done=all_revoked');
    for (const address of [`/keys/${id}?done=revoked`, '/keys?done=all_revoked'])
      expect((await get(address)).text).toContain('role="status"');
    const again = await get(`/keys/${id}/revoke`);
    expect([again.status, again.headers.get('Location')]).toEqual([
      303,
      `/settings/${organization}/keys/${id}?done=already_revoked`,
    ]);
  });
});

test('an error is told in the frame of the organization in the address', async () => {
  const { organization, get } = await makeSettings();
  const { status, text } = await get(`/keys/${crypto.randomUUID()}`);
  expect([status, text.includes('aria-label="Settings"')]).toEqual([404, true]);
  expect(text).toContain(`<a href="/settings/${organization}/keys">To the settings</a>`);
});

test('a page that could not be read does not make one doubt a change', async () => {
  let down = false;
  const DB = aroundD1(env.DB, (run) =>
    down ? Promise.reject(new Error('D1 DB is overloaded. Too many requests queued.')) : run(),
  );
  const { get, post } = await makeSettings({ bindings: { DB } });
  down = true;
  const [read, written] = [await get('/audit'), await post('/revoke-all', {})];
  expect([read.status, written.status]).toEqual([503, 503]);
  expect(read.text).toContain('Nothing was changed');
  expect(written.text).toContain('not certain whether the change was made');
});

test('revoked keys that are still tried are named one by one only while they are few', async () => {
  const { organization, api, get } = await makeSettings();
  const banners = async () => (await get('/keys')).text.match(/role="alert"/g)?.length;
  for (const [number, told] of [1, 2, 1].entries()) {
    const { id, value } = await makeKey(organization, { name: `Key ${number}` });
    await revoke(organization, id);
    await api.send('/api/v1/ping', { key: value });
    await api.settled();
    expect(await banners()).toBe(told);
  }
  expect((await get('/keys')).text).toContain('At least 3 revoked keys are still being tried');
});

test('an organization whose plan lacks PSA is told so on the list of keys', async () => {
  const [poor, rich] = [await makeArea({ psa: false }), await makeSettings()];
  const note = 'does not include PSA';
  expect([(await poor.get('/keys')).text.includes(note), (await rich.get('/keys')).text.includes(note)]).toEqual([
    true,
    false,
  ]);
});

describe('revoking', () => {
  test('asks first, naming the key and its last write; counts from the next request on; and is harmless when repeated', async () => {
    const { organization, api, get, post } = await makeSettings();
    const key = await makeKey(organization);
    await api.postNote(key.value, undefined, { 'CF-Connecting-IP': '192.0.2.77' });
    const question = await get(`/keys/${key.id}/revoke`);
    expect(question.text).toContain('n8n: triage');
    expect(question.text).toContain('192.0.2.77');
    expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(200);
    expect((await post(`/keys/${key.id}/revoke`, {})).location).toContain('done=revoked');
    expect((await api.postNote(key.value)).status).toBe(401);
    expect((await post(`/keys/${key.id}/revoke`, {})).location).toContain('done=already_revoked');
    expect(await actions(organization)).toEqual(['api_key.created', 'note.created', 'api_key.revoked']);
  });

  test('all keys at once: every one is dead, each audited by itself, and nobody else’s', async () => {
    const [mine, theirs] = [await makeSettings(), await makeSettings()];
    const keys = await Promise.all([1, 2, 3].map(() => makeKey(mine.organization)));
    const other = await makeKey(theirs.organization);
    expect((await mine.get('/revoke-all')).text).toContain('3 are in use');
    expect((await mine.post('/revoke-all', {})).status).toBe(303);
    for (const { value } of keys) expect((await mine.api.send('/api/v1/ping', { key: value })).status).toBe(401);
    expect((await mine.api.send('/api/v1/ping', { key: other.value })).status).toBe(200);
    expect((await actions(mine.organization)).filter((action) => action === 'api_key.revoked')).toHaveLength(3);
  });
});

describe('which key is this?', () => {
  test('names a key by its value, behind Bearer too, and by its hint; the value comes back nowhere', async () => {
    const { organization, post } = await makeSettings();
    const key = await makeKey(organization);
    for (const pasted of [key.value, ` Bearer ${key.value}\n`, key.hint, key.hint.replace('…', '...')]) {
      const { text } = await post('/which-key', { pasted });
      expect(text).toContain(`/keys/${key.id}`);
      expect(text).not.toContain(key.value);
    }
    await revoke(organization, key.id);
    expect((await post('/which-key', { pasted: key.value })).text).toContain('Revoked');
    expect((await post('/which-key', { pasted: key.value.slice(0, -1) })).text).toContain(
      'neither a complete key nor a hint',
    );
  });
});

describe('refused uses', () => {
  test('the administrator sees why, while the caller gets the same 401; at most one record a minute', async () => {
    let now = Date.now();
    const { organization, api, get } = await makeSettings({ now: () => now });
    const key = await makeKey(organization, { name: 'Half', scopes: ['tickets:note:write'] });
    const from = { 'CF-Connecting-IP': '192.0.2.5' };
    const refused = await api.postTime(key.value, undefined, from);
    const unknown = await api.postTime('twb_no', undefined, from);
    expect(await refused.text()).toBe(await unknown.text());
    await api.postTime(key.value, undefined, from);
    await api.settled();
    expect(await rowsOf('refused_uses', organization)).toMatchObject([
      { reason: 'scope_missing', count: 1, source_address: '192.0.2.5' },
    ]);
    now += 60_000;
    await api.postTime(key.value, undefined, from);
    await api.settled();
    expect(await rowsOf('refused_uses', organization)).toMatchObject([{ count: 3 }]);
    for (const path of ['/refused', `/keys/${key.id}`]) {
      const { text } = await get(path);
      expect(text).toContain('The key lacks the scope');
      expect(text).toContain('at least 3');
      expect(text).toContain('192.0.2.5');
    }
  });

  test('a revoked key that is still tried is marked by a banner; a plan without PSA and a mismatched replay are counted too', async () => {
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization);
    await api.postNote(key.value, { message: 'a' }, { 'Idempotency-Key': 'k' });
    expect(
      (await api.postNote(key.value, { message: 'b' }, { 'Idempotency-Key': 'k' })).headers.get('Idempotency-Mismatch'),
    ).toBe('true');
    expect((await get('/keys')).text).not.toContain('still being tried');
    await revoke(organization, key.id);
    expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(401);
    await api.settled();
    expect((await get('/keys')).text).toContain('still being tried');
    // Later refusals of other kinds, however many, do not push it out.
    await env.DB.batch([
      env.DB.prepare(
        `insert into api_keys select organization_id, 'other-' || value, chain_id, name || value, lower(hex(randomblob(32))), hint,
         scopes, null, null, created_at, created_by, 1, null, null, null, null from api_keys, json_each(?) where organization_id = ?`,
      ).bind(JSON.stringify(Array.from({ length: 120 }, (_, i) => i)), organization),
      env.DB.prepare(
        `insert into refused_uses select organization_id, id, 'expired', 1, ?2, ?2, null from api_keys where organization_id = ?1 and id like 'other-%'`,
      ).bind(organization, Date.now() + 1_000),
    ]);
    expect((await get('/keys')).text).toContain('still being tried');
    await env.DB.prepare("delete from refused_uses where organization_id = ? and reason = 'expired'")
      .bind(organization)
      .run();
    const reasons = (await rowsOf('refused_uses', organization)).map(({ reason }) => reason);
    expect(reasons).toEqual(['idempotency_mismatch', 'revoked']);

    const poor = await makeSettings({ psa: false });
    const poorKey = await makeKey(poor.organization);
    expect((await poor.api.send('/api/v1/ping', { key: poorKey.value })).status).toBe(403);
    await poor.api.settled();
    expect(await rowsOf('refused_uses', poor.organization)).toMatchObject([{ reason: 'psa_not_included' }]);
  });

  test('the banner stays for 7 days after the last attempt', async () => {
    let now = Date.now();
    const { organization, api, get } = await makeSettings({ now: () => now });
    const key = await makeKey(organization);
    await revoke(organization, key.id);
    const lastAt = now;
    await api.send('/api/v1/ping', { key: key.value });
    await api.settled();
    for (const [ms, shown] of [
      [-1, true],
      [0, true],
      [1, false],
    ] as const) {
      now = lastAt + 7 * DAY_MS + ms;
      expect([ms, (await get('/keys')).text.includes('still being tried')]).toEqual([ms, shown]);
    }
  });
});

test('the address of a refused use is forgotten after 30 days, the count is not', async () => {
  const { organization, api } = await makeSettings();
  const key = await makeKey(organization);
  await revoke(organization, key.id);
  await api.send('/api/v1/ping', { key: key.value });
  await api.settled();
  const [use] = await rowsOf('refused_uses', organization);
  const lastAt = Number(use?.['last_at']);
  await daily(env.DB, () => lastAt + 30 * DAY_MS);
  expect(await rowsOf('refused_uses', organization)).toEqual([use]);
  await daily(env.DB, () => lastAt + 30 * DAY_MS + 1);
  expect(await rowsOf('refused_uses', organization)).toEqual([{ ...use, source_address: null }]);
});

test('a prober costs one write a minute, and a look-up each time as before', async () => {
  const { organization } = await makeSettings();
  const key = await makeKey(organization);
  await revoke(organization, key.id);
  const { db, calls } = countD1(env.DB);
  const api = makeApi({ bindings: { DB: db } });
  for (let i = 0; i < 5; i++) await api.postNote(key.value);
  await api.settled();
  expect(calls.filter(({ rowsWritten }) => rowsWritten > 0)).toHaveLength(1);
  expect(calls).toHaveLength(6);
});

test('what cannot be recorded changes nothing in the answer', async () => {
  const { organization } = await makeSettings();
  const key = await makeKey(organization);
  await revoke(organization, key.id);
  const db = aroundD1(env.DB, (run, statements) =>
    run().then((results) =>
      results[0]?.meta.rows_written ? Promise.reject(new Error(`lost ${statements}`)) : results,
    ),
  );
  const api = makeApi({ bindings: { DB: db } });
  const response = await api.send('/api/v1/ping', { key: key.value });
  expect(response.status).toBe(401);
  await api.settled();
});

describe('Api-Key-Expires-At', () => {
  test('is on every authenticated answer of a key that expires, also a 404, but on no 401', async () => {
    const { organization, api } = await makeSettings();
    const expires = new Date(Date.now() + DAY_MS).toISOString();
    const key = await makeKey(organization, { expires, scopes: ['tickets:note:write'] });
    const header = async (response: Promise<Response>) => (await response).headers.get('Api-Key-Expires-At');
    expect(await header(api.send('/api/v1/ping', { key: key.value }))).toBe(expires);
    expect(await header(api.postNote(key.value))).toBe(expires);
    expect(await header(api.send('/api/v1/nowhere', { key: key.value }))).toBe(expires);
    expect(await header(api.postTime(key.value))).toBeNull();
  });
});

describe('forms', () => {
  test('are taken only as forms, from this very origin, and complete', async () => {
    const { organization, post, create } = await makeSettings();
    expect((await post('/keys', GOOD, { 'Content-Type': 'application/json' })).status).toBe(415);
    expect((await post('/keys', GOOD, { 'Content-Type': 'multipart/form-data; boundary=x' })).status).toBe(415);
    expect(
      (await post('/keys', { ...GOOD, token: crypto.randomUUID() }, { Origin: 'https://evil.example' })).status,
    ).toBe(403);
    expect((await post('/revoke-all', {}, { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403);
    expect((await post('/keys', { ...GOOD, token: 'mine' })).status).toBe(400);
    expect((await create({ name: 'x'.repeat(20_000) })).status).toBe(413);
    expect((await post('/nowhere', {})).status).toBe(404);
    expect(await rowsOf('api_keys', organization)).toEqual([]);
  });

  test('every page refuses foreign scripts, frames and caches', async () => {
    const { get } = await makeSettings();
    const { headers } = await get('/keys');
    expect(headers.get('Content-Security-Policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(headers.get('X-Frame-Options')).toBe('DENY');
    expect(headers.get('Strict-Transport-Security')).toBe('max-age=31536000');
  });
});

test('names are shown as text, never as markup, and are no formulas in a spreadsheet', async () => {
  const { organization, api, get, create } = await makeSettings();
  const name = '=HYPERLINK("//evil")<script>alert(1)</script><img src=x onerror=alert(1)>';
  const { text } = await create({ name });
  await api.postNote(keyIn(text), { message: name }, { 'Idempotency-Key': '<script>', 'User-Agent': '"><script>' });
  const [key] = await rowsOf('api_keys', organization);
  for (const page of [
    text,
    ...(
      await Promise.all(
        [
          '/keys',
          `/keys/${key?.['id']}`,
          `/keys/${key?.['id']}/revoke`,
          '/audit',
          `/audit?q=${encodeURIComponent(name)}`,
        ].map(get),
      )
    ).map((one) => one.text),
  ]) {
    expect(page).not.toContain('<script>');
    expect(page).not.toContain('<img');
    expect(page).not.toContain('<b>Lovelace');
  }
  for (const path of ['/keys.csv', '/audit.csv']) expect((await get(path)).text).toContain('"\'=HYPERLINK(""//evil"")');
});

describe('the audit log', () => {
  test.each(['2027-02-30', '2027-13-01', '27-02-01', 'today'])('refuses %s as a date', async (date) => {
    const { get } = await makeSettings();
    for (const path of [`/audit?from=${date}`, `/audit?to=${date}`, `/audit.csv?from=${date}`]) {
      const { status, text } = await get(path);
      expect([status, text]).toEqual([400, expect.stringContaining('No such date')]);
    }
    expect((await get('/audit?from=2028-02-29')).status).toBe(200);
  });

  test('offers the download also when nothing matches so far', async () => {
    const { organization, get } = await makeSettings();
    await makeKey(organization);
    expect((await get('/audit?ticket=77')).text).not.toContain('Download as CSV');
    await env.DB.prepare(
      `insert into audit_log select ?, value, 1, 'system', 'psa', 'PSA', 'note.created', 'r', iif(value = 2, '77', '1001'), 'q', null, null, null, null
       from json_each(?)`,
    )
      .bind(organization, JSON.stringify(Array.from({ length: 1_200 }, (_, i) => i + 2)))
      .run();
    const { text } = await get('/audit?ticket=77');
    expect(text).toContain('No entry matches so far');
    expect(text).toContain('audit.csv?ticket=77');
    expect((await get('/audit.csv?ticket=77')).text.trim().split('\r\n')).toHaveLength(2);
  });

  test('keeps a chosen key among the choices, however old it is', async () => {
    const { organization, get } = await makeSettings();
    const old = await makeKey(organization, { name: 'Long gone' }, () => Date.parse('2020-01-01'));
    await revoke(organization, old.id);
    const key = await makeKey(organization);
    await env.DB.prepare(
      `insert into api_keys select organization_id, 'f-' || printf('%03d', value), chain_id, name || value, lower(hex(randomblob(32))), hint,
       scopes, null, null, created_at, created_by, 1, null, null, null, null from api_keys, json_each(?) where organization_id = ? and api_keys.id = ?`,
    )
      .bind(JSON.stringify(Array.from({ length: 120 }, (_, i) => i)), organization, key.id)
      .run();
    expect((await get('/audit')).text).not.toContain(`value="${old.id}"`);
    expect((await get(`/audit?key=${old.id}`)).text).toMatch(new RegExp(`value="${old.id}" selected`));
  });

  test('a search goes through the whole log, shows no filter beside it, and can be downloaded', async () => {
    const { organization, get } = await makeSettings();
    const [key, other] = [await makeKey(organization), await makeKey(organization)];
    const { text } = await get(`/audit?q=${key.id}&key=${other.id}&action=note.created&from=2001-01-01`);
    expect(text).toContain(`href="/settings/${organization}/keys/${key.id}"`);
    expect(text).not.toMatch(/<option value="[^"]+" selected/);
    expect(text).not.toContain('2001-01-01');
    expect(text).toContain(`audit.csv?q=${key.id}"`);
    const csv = (await get(`/audit.csv?q=${key.id}`)).text;
    expect(csv).toContain(key.id);
    expect(csv).not.toContain(other.id);
  });
});

test('a creator who is no longer an administrator is marked', async () => {
  const { organization, get } = await makeSettings();
  await importRecords({
    type: 'user',
    organization,
    id: 'olga',
    email: `olga@${organization}.example`,
    name: 'Olga',
    admin: true,
  });
  await makeKey(organization);
  await env.DB.prepare("update api_keys set created_by = 'olga' where organization_id = ?").bind(organization).run();
  expect((await get('/keys')).text).not.toContain('no longer active');
  await importRecords({ type: 'user', organization, id: 'olga', email: `olga@${organization}.example`, name: 'Olga' });
  expect((await get('/keys')).text).toContain('no longer active');
  expect((await get('/keys.csv')).text).toContain('"Olga","no"');
});

test('an organization without keys is told what keys are for', async () => {
  const { get } = await makeSettings();
  expect((await get('/keys')).text).toContain('No key is in use');
});
