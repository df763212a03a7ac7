import { env } from 'cloudflare:workers';
import { describe, expect, test, vi } from 'vitest';
import { aroundD1 } from '../../support/d1.ts';
import { countElements, elementsOf } from '../../support/page.ts';
import { auditedActions, copyKey, makeSettings } from '../../support/settings.ts';
import { makeKey, revoke, rowsOf } from '../../support/world.ts';

describe('revoking a key', () => {
  test('the revocation takes effect on the next request, and a second one does nothing', async () => {
    const { organization, base, api, get, post } = await makeSettings();
    const key = await makeKey(organization);
    expect((await api.postNote(key.value)).status).toBe(201);
    const page = `${base}/keys/${key.id}`;
    expect(await post(`/keys/${key.id}/revoke`, {})).toMatchObject({
      location: page,
      notice: expect.stringMatching(/is revoked/),
    });
    expect((await api.postNote(key.value)).status).toBe(401);
    const again = await post(`/keys/${key.id}/revoke`, {});
    expect([again.location, again.notice]).toEqual([page, 'The key was already revoked.']);
    const asked = await get(`/keys/${key.id}/revoke`);
    expect([asked.status, asked.headers.get('Location')]).toEqual([303, page]);
    expect(await auditedActions(organization)).toEqual(['api_key.created', 'note.created', 'api_key.revoked']);
  });
});

test('a revoked key shows exactly its writes of the last 24 hours and their addresses, and links to them', async () => {
  let now = Date.parse('2027-03-22T12:00:00Z');
  const { organization, api, base, get, post } = await makeSettings({ now: () => now });
  const [key, other] = [await makeKey(organization), await makeKey(organization)];
  const write = (value: string, address: string) => api.postNote(value, undefined, { 'CF-Connecting-IP': address });
  await write(key.value, '192.0.2.1');
  now += 1_000;
  await write(key.value, '192.0.2.2');
  now += 60_000;
  for (const address of ['192.0.2.2', '192.0.2.3']) await write(key.value, address);
  await write(other.value, '192.0.2.4');
  now = Date.parse('2027-03-23T12:00:01Z');
  await post(`/keys/${key.id}/revoke`, {});
  const { text } = await get(`/keys/${key.id}`);
  const [count] = await elementsOf(text, 'main > p:first-of-type');
  expect(count?.text.replaceAll(/\s+/g, ' ')).toContain(
    '3 writes in the last 24 hours from 2 addresses. 4 writes in 30 days.',
  );
  const path = `/audit?key=${key.id}&from=2027-03-22`;
  expect(await countElements(text, `main > p a[href="${base}${path.replace('&', '&amp;')}"]`)).toBe(1);
  expect(await countElements((await get(path)).text, '.log li')).toBe(5);
});

/** The status of the list of keys that is shown again, and why: in a banner with the focus, which leads to the list. */
async function refusalIn({ status, text }: { status: number; text: string }) {
  expect(await countElements(text, '[autofocus]#errors a[href="#list"]')).toBe(1);
  expect(await countElements(text, '#list')).toBe(1);
  const words = (await elementsOf(text, '#errors'))[0]?.text.replaceAll(/\s+/g, ' ').trim();
  return [status, words?.replace(' Select keys in the list, then choose again below it.', '')];
}

describe('revoking selected keys', () => {
  test('one confirmation ends the selected keys, and leads back to the filtered list', async () => {
    const [mine, theirs] = [await makeSettings(), await makeSettings()];
    const all = await Promise.all([1, 2, 3].map((number) => makeKey(mine.organization, { name: `Old ${number}` })));
    const keys = all.slice(0, 2);
    const other = await makeKey(theirs.organization);
    const list = '/keys?q=Old';
    const form = (await mine.get(list)).text;
    expect(await countElements(form, 'tbody [name=key]')).toBe(3);
    // The page of a key leads back to this list.
    const [address = ''] = (await elementsOf(form, 'tbody th a')).map(({ attributes }) => attributes['href']);
    const key = (await mine.get(address.slice(mine.base.length))).text;
    expect(await countElements(key, `.trail a[href="${mine.base}${list}"]`)).toBe(1);
    expect(form).toContain('<h1>Keys with “Old”: 3</h1>');
    expect(await countElements((await mine.get('/keys')).text, '[name=key]')).toBe(3);

    const chosen = [...keys.map(({ id }) => id), other.id];
    const asked = await mine.get(`/revoke-keys?q=Old&${chosen.map((id) => `key=${id}`).join('&')}`);
    expect((await elementsOf(asked.text, 'tbody bdi')).map(({ text }) => text)).toEqual(
      expect.arrayContaining(['Old 1', 'Old 2']),
    );
    expect(await countElements(asked.text, 'tbody tr')).toBe(2);
    for (const { value } of keys) expect((await mine.api.send('/api/v1/ping', { key: value })).status).toBe(200);

    const { location, notice } = await mine.post('/revoke-keys', {
      q: 'Old',
      key: keys.map(({ id }) => id),
    });
    expect([location, notice]).toEqual([`${mine.base}${list}`, expect.stringMatching(/^2 keys are revoked\./)]);
    for (const { value } of keys) expect((await mine.api.send('/api/v1/ping', { key: value })).status).toBe(401);
    const again = await mine.post('/revoke-keys', { key: [...chosen, all[2]?.id ?? ''] });
    expect([again.location, again.notice]).toEqual([
      `${mine.base}/keys`,
      '1 of 4 keys are revoked now. The others already were.',
    ]);
    for (const { api, value } of [{ api: theirs.api, value: other.value }])
      expect((await api.send('/api/v1/ping', { key: value })).status).toBe(200);
    expect((await auditedActions(mine.organization)).filter((action) => action === 'api_key.revoked')).toHaveLength(3);
  });

  test('only selected keys are revoked, also after a search', async () => {
    const { organization, get } = await makeSettings();
    for (const name of ['One', 'Two']) await makeKey(organization, { name, owner: 'Tess' });
    await makeKey(organization, { name: 'Other' });
    for (const query of ['', '?sort=last', '?q=tess', '?fact=key_unused']) {
      const none = await get(`/revoke-keys${query}`);
      expect([query, await refusalIn(none)]).toEqual([query, [400, expect.stringMatching(/^No key was selected\./)]]);
    }
    expect(await countElements((await get('/revoke-keys')).text, '[type=checkbox][name=key]')).toBe(3);
    const { id } = await makeKey(organization, { name: 'Ended' });
    await revoke(organization, id);
    expect(await refusalIn(await get(`/revoke-keys?key=${id}`))).toEqual([
      400,
      expect.stringMatching(/^These keys are already revoked\./),
    ]);
  });

  test('the confirmation has the workflows of up to 20 selected keys', async () => {
    const { organization, api, get } = await makeSettings();
    const keys: string[] = [];
    for (let number = 0; number < 21; number++) {
      const { id, value } = await makeKey(organization, { name: `Key ${number}` });
      keys.push(`key=${id}`);
      const headers = { 'Idempotency-Key': `flow-${number}:1`, 'User-Agent': 'n8n/1.70' };
      if (number < 2) await api.postNote(value, undefined, headers);
    }
    const workflows = async (selected: readonly string[]) =>
      (await elementsOf((await get(`/revoke-keys?${selected.join('&')}`)).text, 'td[data-label=Workflows]')).map(
        ({ text }) => text.replaceAll(/\s+/g, ' ').trim(),
      );
    expect(await workflows(keys.slice(0, 3))).toEqual(
      expect.arrayContaining([
        expect.stringContaining('flow-0 (n8n)'),
        expect.stringContaining('flow-1 (n8n)'),
        'None',
      ]),
    );
    expect(await workflows(keys)).toEqual([]);
  });

  /** The settings area with 160 ended keys and, last by name, one that works, all of which are to be revoked. */
  async function confirmMany(options: Parameters<typeof makeSettings>[0] = {}) {
    const settings = await makeSettings(options);
    const leaked = await makeKey(settings.organization, { name: 'zzz leaked' });
    const ended = await makeKey(settings.organization, { expires: '2026-01-01' }, () => Date.parse('2025-12-01'));
    await copyKey(settings.organization, ended.id, { prefix: 'ended-', count: 159 });
    await env.DB.prepare("update api_keys set expires_at = 1 where organization_id = ? and id like 'ended-%'")
      .bind(settings.organization)
      .run();
    const boxes = await elementsOf((await settings.get('/keys?state=all')).text, 'tbody [name=key]');
    const selected = boxes.map(({ attributes }) => `key=${attributes['value']}`).join('&');
    const asked = await settings.get(`/revoke-keys?${selected}`);
    expect((await elementsOf(asked.text, 'h1'))[0]?.text).toBe('Revoke 161 keys?');
    const hidden = await elementsOf(asked.text, 'input[type=hidden][name=key]');
    const key = hidden.map(({ attributes }) => attributes['value'] ?? '');
    return { ...settings, leaked, key };
  }

  test('every confirmed key is revoked, however many there are', async () => {
    const { organization, base, api, post, leaked, key } = await confirmMany();
    const { location, notice } = await post('/revoke-keys', { key });
    expect([location, notice]).toEqual([`${base}/keys`, expect.stringMatching(/^161 keys are revoked\./)]);
    expect((await api.send('/api/v1/ping', { key: leaked.value })).status).toBe(401);
    const rows = await rowsOf('api_keys', organization);
    expect(rows.filter(({ revoked_at }) => revoked_at === null)).toEqual([]);
    const audited = (await rowsOf('audit_log', organization)).filter(({ action }) => action === 'api_key.revoked');
    expect(audited.map(({ target_id }) => target_id).sort()).toEqual([...key].sort());
  });

  test('no key is revoked if the audit row of one of them fails', async () => {
    const { organization, post } = await makeSettings();
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const keys = await Promise.all([1, 2, 3].map(() => makeKey(organization)));
    const condition = `new.action = 'api_key.revoked' and new.target_id = '${keys[1]?.id}'`;
    await env.DB.prepare(
      `create trigger no_revocation before insert on audit_log when ${condition} begin select raise(abort, 'no'); end`,
    ).run();
    expect((await post('/revoke-keys', { key: keys.map(({ id }) => id) })).status).toBe(500);
    await env.DB.prepare('drop trigger no_revocation').run();
    expect((await rowsOf('api_keys', organization)).map(({ revoked_at }) => revoked_at)).toEqual([null, null, null]);
  });
});

describe('revoking all keys', () => {
  test('the form ends every key of the organization and no other, each with an audit row', async () => {
    const [mine, theirs] = [await makeSettings(), await makeSettings()];
    const keys = await Promise.all([1, 2, 3].map(() => makeKey(mine.organization)));
    const other = await makeKey(theirs.organization);
    expect((await mine.get('/revoke-all')).text).toMatch(/\b3\b/);
    const { location, notice } = await mine.post('/revoke-all', { organization: ' northwind ' });
    expect([location, notice]).toEqual([`${mine.base}/keys`, expect.stringMatching(/^3 keys are revoked\./)]);
    for (const { value } of keys) expect((await mine.api.send('/api/v1/ping', { key: value })).status).toBe(401);
    expect((await mine.api.send('/api/v1/ping', { key: other.value })).status).toBe(200);
    const revoked = (await rowsOf('audit_log', mine.organization)).filter(({ action }) => action === 'api_key.revoked');
    expect(revoked.map(({ target_id }) => target_id).sort()).toEqual(keys.map(({ id }) => id).sort());
  });

  test('the form requires the name of the organization, and refuses another one', async () => {
    const { organization, api, post } = await makeSettings();
    const key = await makeKey(organization);
    for (const typed of ['', 'North', organization]) {
      const { status, text } = await post('/revoke-all', { organization: typed });
      expect([status, await countElements(text, '[aria-invalid=true]')]).toEqual([400, 1]);
    }
    expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(200);
  });
});

test('an organization without a key in use has nothing to revoke', async () => {
  const { base, get } = await makeSettings();
  const { status, headers } = await get('/revoke-all');
  expect([status, headers.get('Location')]).toEqual([303, `${base}/keys`]);
});

test('the notice about a change is shown once, by its page, and by no page with an error', async () => {
  let down = false;
  const DB = aroundD1(env.DB, (run) => (down ? Promise.reject(new Error('D1 DB is overloaded.')) : run()));
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const { organization, base, api, headers, post } = await makeSettings({ bindings: { DB } });
  const { id } = await makeKey(organization);
  const set = (await post(`/keys/${id}/revoke`, {})).headers.get('Set-Cookie') ?? '';
  // A browser accepts a cookie with this prefix only from the host itself.
  expect(set).toMatch(/^__Host-notice=[^;]+; Max-Age=60; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
  const [cookie = ''] = set.split(';');
  const open = async (path: string, sent = cookie) => {
    const response = await api.send(`${base}${path}`, { headers: { ...headers, Cookie: sent } });
    const shown = await elementsOf(await response.text(), '.banner.good');
    return [response.status, shown.map(({ text }) => text), response.headers.get('Set-Cookie')];
  };
  const page = `/keys/${id}`;
  down = true;
  expect(await open(page)).toEqual([503, [], null]);
  down = false;
  expect(await open('/keys')).toEqual([200, [], null]);
  // Other hosts of the zone can set this one.
  expect(await open(page, cookie.replace('__Host-', ''))).toEqual([200, [], null]);
  const text = 'The key is revoked. Requests with it are now refused.';
  const removed = '__Host-notice=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Lax';
  expect(await open(page)).toEqual([200, [text], removed]);
});
