import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { RECIPES } from '../../../src/docs/recipes.ts';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { aroundD1 } from '../../support/d1.ts';
import { countElements, elementsOf } from '../../support/page.ts';
import { auditedActions, copyKey, keyIn, makeSettings, NEW_KEY } from '../../support/settings.ts';
import { BOTH_SCOPES, makeKey, revoke, rotate, rowsOf } from '../../support/world.ts';

describe('creating a key', () => {
  test('the page shows the value once, and the key works immediately', async () => {
    const { organization, api, createKey, get } = await makeSettings();
    const answer = await createKey({ scopes: BOTH_SCOPES });
    expect(answer.status).toBe(200);
    const key = keyIn(answer.text);
    expect((await api.postNote(key)).status).toBe(201);

    const [stored] = await rowsOf('api_keys', organization);
    for (const path of ['/keys', `/keys/${stored?.['id']}`, '/audit', '/keys.csv', '/audit.csv']) {
      const { text } = await get(path);
      expect(text).toContain('n8n prod');
      expect(text).not.toContain(key);
    }
    expect(JSON.stringify(stored)).not.toContain(key);
  });

  test('the page shows a dry run with the real address and without the key, and links to each recipe', async () => {
    const { base, createKey } = await makeSettings();
    const { text } = await createKey({ scopes: BOTH_SCOPES });
    expect(text.split(keyIn(text))).toHaveLength(2);
    expect((await elementsOf(text, 'pre')).map((one) => one.text)).toEqual([
      expect.stringMatching(
        /^read -rs KEY &amp;&amp; curl https:\/\/api\.example\/api\/v1\/tickets\/1001\/notes\/dry-run \\\n {2}-H .* \\\n {2}-d &#39;\{/,
      ),
    ]);
    const links = (await elementsOf(text, 'main a[href^="/docs/recipes/"]')).map((link) => [
      link.attributes['href'],
      link.text,
    ]);
    expect(links).toEqual(RECIPES.map(({ slug, tool }) => [`/docs/recipes/${slug}`, tool]));
    expect(await elementsOf(text, 'head base')).toMatchObject([{ attributes: { target: '_blank' } }]);
    expect(await elementsOf(text, 'form[data-stored]')).toMatchObject([
      { attributes: { target: '_self', action: expect.stringContaining(`${base}/keys/`) } },
    ]);
  });

  test('the page offers no test of a key that this browser may not use, and explains why', async () => {
    const { createKey } = await makeSettings();
    const inside = await createKey({ name: 'inside', allowedNetworks: '0.0.0.0/1\n128.0.0.0/1\n::/1\n8000::/1' });
    expect(await countElements(inside.text, '[data-test]')).toBe(1);
    const { text } = await createKey({ name: 'outside', allowedNetworks: '192.0.2.0/24' });
    expect(await countElements(text, '[data-test]')).toBe(0);
    expect(text).toContain('The key works only from 192.0.2.0/24. This browser is outside them');
  });

  test.each([
    ['none', null],
    ['30', 30],
    ['365', 365],
  ])(
    'a key with an expiration of %s expires when a day ends in the organization’s time zone',
    async (expires, days) => {
      // 21 March, 23:30 in New York: already the 22nd in UTC.
      const now = Date.parse('2027-03-22T03:30:00Z');
      const { organization, createKey } = await makeSettings({ timeZone: 'America/New_York', now: () => now });
      await createKey({ expires });
      const end = days === null ? null : Date.parse('2027-03-22T04:00:00Z') + days * DAY_MS;
      expect(await rowsOf('api_keys', organization)).toMatchObject([{ expires_at: end }]);
    },
  );

  test('a key stores a description and an owner, as one line each, and its successor keeps them', async () => {
    const { organization, createKey, get } = await makeSettings();
    await createKey({ description: '  Closes <b>alerts</b>\n of the night ', owner: 'NOC team' });
    const [key] = await rowsOf('api_keys', organization);
    const id = String(key?.['id']);
    expect(key).toMatchObject({ description: 'Closes <b>alerts</b> of the night', owner: 'NOC team' });
    const facts = (await elementsOf((await get(`/keys/${id}`)).text, 'dl.facts dd')).map(({ text }) => text.trim());
    expect(facts).toEqual(expect.arrayContaining(['Closes &lt;b&gt;alerts&lt;/b&gt; of the night', 'NOC team']));
    expect((await get('/keys.csv')).text).toContain('NOC team');
    await rotate(organization, id, { grace: '1h' });
    const owners = (await rowsOf('api_keys', organization)).map(({ owner, description }) => [owner, description]);
    expect(owners).toEqual([owners[0], owners[0]]);
  });
});

test('the value of a new key is shown even if every call after its transaction fails', async () => {
  let isCommitted = false;
  const DB = aroundD1(env.DB, async (run, statements, sql) => {
    if (isCommitted) throw new Error('D1 DB is overloaded. Requests queued for too long.');
    const results = await run();
    isCommitted = statements > 1 && sql.some((text) => text.includes('insert into api_keys'));
    return results;
  });
  const { organization, api, createKey, post } = await makeSettings({ bindings: { DB } });
  const rotateOnce = async (grace: string) => {
    const { id } = await makeKey(organization);
    return post(`/keys/${id}/rotate`, { token: crypto.randomUUID(), expires: 'none', grace });
  };
  for (const [send, ofOldKey] of [
    [createKey, ''],
    [() => rotateOnce('1h'), 'which stops at'],
    [() => rotateOnce('now'), 'which is revoked'],
  ] as const) {
    isCommitted = false;
    const { status, text } = await send();
    expect([status, isCommitted]).toEqual([200, true]);
    expect(text).toContain(ofOldKey);
    isCommitted = false;
    expect((await api.send('/api/v1/ping', { key: keyIn(text) })).status).toBe(200);
  }
});

describe('a form for a new key', () => {
  test('an invalid form marks every wrong field and keeps the input', async () => {
    const { organization, createKey } = await makeSettings();
    const answer = await createKey({
      name: ' ',
      scopes: [],
      expires: 'date',
      date: '2027-02-30',
      dayLimitMinutes: '0',
    });
    expect(answer.status).toBe(400);
    for (const id of ['name', 'scopes', 'expires', 'dayLimitMinutes'])
      expect([id, await countElements(answer.text, `#${id}-error`)]).toEqual([id, 1]);

    const typed = { name: 'My "workflow"', expires: 'date', date: '2001-01-01' };
    const again = await createKey(typed);
    expect(await elementsOf(again.text, '#name')).toMatchObject([{ attributes: { value: 'My &quot;workflow&quot;' } }]);
    expect(await elementsOf(again.text, '[name=date]')).toMatchObject([{ attributes: { value: typed.date } }]);
    expect(await countElements(again.text, '.error')).toBe(1);
    expect(await countElements(again.text, '#expires-error')).toBe(1);
    expect(await rowsOf('api_keys', organization)).toEqual([]);
  });

  test('the page lists all errors together, with links to the fields, and takes the focus there', async () => {
    const { organization, createKey } = await makeSettings();
    await makeKey(organization, { name: 'Taken' });
    const { text } = await createKey({
      name: ' Taken ',
      scopes: [],
      expires: 'date',
      date: '2001-01-01',
      allowedNetworks: '203.0.113.0/240 192.0.2.1 1.2.3',
    });
    expect((await elementsOf(text, 'title'))[0]?.text).toMatch(/^Error: The key was not created · /);
    const [summary] = await elementsOf(text, '#errors[tabindex="-1"][autofocus]');
    expect(summary?.text.replaceAll(/\s+/g, ' ').trim()).toBe(
      'Nothing was created. Correct 4 fields: Name, What the key can write, Expiration, Allowed networks',
    );
    const links = (await elementsOf(text, '#errors a')).map(({ attributes }) => attributes['href'] ?? '');
    expect(links).toEqual(['#name', '#scopes', '#expires', '#allowedNetworks']);
    for (const link of links) expect([link, await countElements(text, link)]).toEqual([link, 1]);
    const [networks] = await elementsOf(text, '#allowedNetworks-error');
    for (const wrong of ['203.0.113.0/240', '1.2.3']) expect(networks?.text).toContain(wrong);
  });

  test.each([
    ['a date without the choice of a date', { expires: '30', date: '2027-12-31' }, 'expires'],
    ['the choice of a date without a date', { expires: 'date', date: '' }, 'expires'],
    ['a date without any choice', { expires: '', date: '2027-12-31' }, 'expires'],
    ['a date that has passed', { expires: 'date', date: '2001-01-01' }, 'expires'],
    ['a date more than ten years away', { expires: 'date', date: '9999-12-31' }, 'expires'],
    ['an expiration that is not offered', { expires: '7' }, 'expires'],
    ['too many records a day', { dayLimitRecords: '10000001' }, 'dayLimitRecords'],
    ['a number of records that is not whole', { dayLimitRecords: '1.5' }, 'dayLimitRecords'],
    ['0 minutes a day', { dayLimitMinutes: '0' }, 'dayLimitMinutes'],
    ['too many minutes a day', { dayLimitMinutes: '10000001' }, 'dayLimitMinutes'],
    ['a scope that does not exist', { scopes: 'tickets:read' }, 'scopes'],
    ['a name of 101 characters', { name: 'x'.repeat(101) }, 'name'],
    ['a name with NUL', { name: 'a\0b' }, 'name'],
    ['an owner of 101 characters', { owner: 'x'.repeat(101) }, 'owner'],
    ['a description with NUL', { description: 'a\0b' }, 'description'],
  ])('a form with %s is refused', async (_, fields, field) => {
    const { organization, createKey } = await makeSettings();
    const { status, text } = await createKey(fields);
    expect(status).toBe(400);
    expect((await elementsOf(text, '.error')).map(({ attributes }) => attributes['id'])).toEqual([`${field}-error`]);
    expect(await rowsOf('api_keys', organization)).toEqual([]);
  });

  test.each([
    ['an empty expiration', { expires: '' }],
    ['no expiration', { expires: [] }],
    ['no expiration and an empty date', { expires: [], date: '' }],
  ])(
    'a form with %s creates a key that never expires, unless the key rules require an expiration',
    async (_, fields) => {
      const { organization, createKey, post } = await makeSettings();
      expect((await createKey({ name: 'First', ...fields })).status).toBe(200);
      expect(await rowsOf('api_keys', organization)).toMatchObject([{ expires_at: null }]);
      await post('/key-rules', { revision: '0', expiryRequired: 'on' });
      const { status, text } = await createKey({ name: 'Second', ...fields });
      expect([status, await countElements(text, '#expires-error')]).toEqual([400, 1]);
    },
  );

  test('a form that is sent twice, even simultaneously, creates one key and leads to it', async () => {
    const { organization, base, post } = await makeSettings();
    const fields = { token: crypto.randomUUID(), ...NEW_KEY };
    const answers = await Promise.all([
      post('/keys', fields),
      post('/keys', fields),
      post('/keys', { ...fields, name: 'Other' }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 303, 303]);
    const late = await post('/keys', fields);
    expect([late.status, keyIn(late.text)]).toEqual([303, 'no key shown']);
    const [row, ...others] = await rowsOf('api_keys', organization);
    expect(others).toEqual([]);
    expect(await auditedActions(organization)).toEqual(['api_key.created']);
    expect([late.location, late.notice]).toEqual([
      `${base}/keys/${row?.['id']}`,
      expect.stringContaining('rotate the key if you did not copy it'),
    ]);
  });
});

describe('the name of a key', () => {
  test('an expired key keeps its name until it is revoked, and its page offers that', async () => {
    const { organization, base, createKey, get, post } = await makeSettings();
    const expired = await makeKey(organization, { name: NEW_KEY.name, expires: '2026-01-01' }, () =>
      Date.parse('2025-12-01'),
    );
    expect((await createKey()).status).toBe(400);
    const offered = async () =>
      (await elementsOf((await get(`/keys/${expired.id}`)).text, 'form')).map(({ attributes }) => attributes['action']);
    expect(await offered()).toEqual([`${base}/keys/${expired.id}/revoke`]);
    expect((await post(`/keys/${expired.id}/revoke`, {})).status).toBe(303);
    expect(await offered()).toEqual([]);
    expect((await createKey()).status).toBe(200);
  });
});

test('an organization has at most 100 live keys; expired and revoked ones do not count', async () => {
  const { organization, createKey } = await makeSettings();
  const key = await makeKey(organization);
  await makeKey(organization, { expires: '2026-01-01' }, () => Date.parse('2025-12-01'));
  await copyKey(organization, key.id, { prefix: 'live-', count: 99 });
  await copyKey(organization, key.id, { prefix: 'revoked-', count: 51, revoked: true });
  const full = await createKey();
  // The form as a whole is refused, and none of its fields.
  expect([full.status, await countElements(full.text, '[role=alert]')]).toEqual([400, 1]);
  expect(await countElements(full.text, '.error')).toBe(0);
  await revoke(organization, key.id);
  expect((await createKey()).status).toBe(200);
});

describe('creating a key like another one', () => {
  test('the form has everything of the other key, and its name if that is free', async () => {
    const now = Date.parse('2027-03-01T12:00:00Z');
    const { organization, get } = await makeSettings({ now: () => now });
    const rest = { owner: 'NOC team', description: 'Nightly', allowedNetworks: '192.0.2.0/24 198.51.100.7/32' };
    const changes = { ...rest, expires: '2027-03-06', dayLimit: { minutes: 60 } };
    const scopes = ['tickets:time:write' as const];
    const { id } = await makeKey(organization, { name: 'Night', scopes, ...changes }, () => now);
    const values = async () => {
      const { text } = await get(`/new-key?like=${id}`);
      const fields = (await elementsOf(text, '#form input[name][value]')).filter(
        ({ attributes: { type = '', checked } }) => !['checkbox', 'radio'].includes(type) || checked !== undefined,
      );
      const action = (await elementsOf(text, '#form'))[0]?.attributes['action'];
      const [networks] = await elementsOf(text, '#form textarea');
      const pairs = fields.map(({ attributes: { name, value } }) => [name, value]);
      return { networks: networks?.text, action, ...Object.fromEntries(pairs.filter(([name]) => name !== 'token')) };
    };
    const filled = {
      ...{ owner: 'NOC team', description: 'Nightly', scopes: 'tickets:time:write', companies: '*' },
      ...{ dayLimitMinutes: '60', networks: '192.0.2.0/24\n198.51.100.7/32', expires: 'date', date: '2027-03-06' },
      action: expect.stringMatching(`/keys\\?like=${id}$`),
    };
    expect(await values()).toEqual(filled);
    await revoke(organization, id);
    // Of a revoked key, the name may be free or not: the form has it.
    expect(await values()).toEqual({ ...filled, name: 'Night' });
  });

  test('a key of another organization is not found', async () => {
    const [mine, theirs] = [await makeSettings(), await makeSettings()];
    const { id } = await makeKey(theirs.organization);
    expect((await mine.get(`/new-key?like=${id}`)).status).toBe(404);
    expect((await mine.get(`/keys/${id}/replace`)).status).toBe(404);
    const sent = { ...NEW_KEY, token: crypto.randomUUID(), revision: '0' };
    expect((await mine.post(`/keys/${id}/replace`, sent)).status).toBe(404);
    expect(await rowsOf('api_keys', mine.organization)).toEqual([]);
  });
});

describe('the form for the replacement of a key', () => {
  const heading = async (text: string) => (await elementsOf(text, 'h1'))[0]?.text;
  const bannerOf = async (text: string) => (await elementsOf(text, '.banner'))[0]?.text.replaceAll(/\s+/g, ' ');
  const scopesOf = async (text: string) =>
    (await elementsOf(text, '[name=scopes][checked]')).map(({ attributes }) => attributes['value']);

  test('the form of a key that lacks a scope selects both, and the facts, buttons and rows end with it', async () => {
    const { organization, api, base, get, post } = await makeSettings();
    const { id, value } = await makeKey(organization, { name: 'Make', scopes: ['tickets:time:write'] });
    const path = `/keys/${id}/replace`;
    expect(await scopesOf((await get(path)).text)).toEqual(['tickets:time:write']);
    await api.postTime(value, undefined, { 'Idempotency-Key': 'report:1', 'User-Agent': 'python-requests/2' });
    await api.postNote(value);
    await api.settled();
    const offers = async (page: string) => countElements((await get(page)).text, `a[href="${base}${path}"]`);
    expect([await offers('/refused'), await offers(`/keys/${id}`)]).toEqual([1, 1]);
    expect((await get('/keys')).text).toContain('1 key lacks a scope');
    const { text } = await get(path);
    expect(await heading(text)).toBe('Create the replacement of Make');
    expect(await bannerOf(text)).toMatch(
      /keeps working for the grace period.*Both scopes.*Used by ?report \(python-requests\)/,
    );
    expect(await scopesOf(text)).toEqual(BOTH_SCOPES);
    expect(await countElements(text, '[name=grace]')).toBe(4);

    const token = crypto.randomUUID();
    const fields = { ...NEW_KEY, name: 'Make', scopes: BOTH_SCOPES, grace: '1h', token, revision: '0' };
    const unanswered = await post(path, { ...fields, grace: [] });
    expect([unanswered.status, await countElements(unanswered.text, '#grace-error')]).toEqual([400, 1]);
    const created = await post(path, fields);
    expect(created.text).toContain('which stops at');
    const key = keyIn(created.text);
    expect([(await api.postNote(key)).status, (await api.postTime(key)).status]).toEqual([201, 201]);
    const [, successor] = await rowsOf('api_keys', organization);
    expect((await post(path, fields)).location).toBe(`${base}/keys/${successor?.['id']}`);
    for (const again of [await post(path, { ...fields, token: crypto.randomUUID() }), await get(path)]) {
      expect(again.status).toBe(409);
      expect((await elementsOf(again.text, 'main a.button')).map(({ attributes }) => attributes['href'])).toEqual([
        `${base}/keys/${successor?.['id']}`,
      ]);
    }

    expect([await offers('/refused'), await offers(`/keys/${id}`)]).toEqual([0, 0]);
    expect((await get('/keys')).text).not.toContain('key lacks a scope');
    const [row] = await elementsOf((await get('/refused')).text, '.refused tbody tr');
    expect(row?.text.replaceAll(/\s+/g, ' ')).toMatch(/Over since .*Open its successor/);
  });

  test.each(['expired', 'revoked'] as const)('a key that is %s and still used gets one successor', async (state) => {
    let now = Date.parse('2027-03-01T12:00:00Z');
    const { organization, api, base, get, post } = await makeSettings({ now: () => now });
    const expires = new Date(now + 3_600_000).toISOString();
    const { id, value } = await makeKey(organization, { name: 'Night', expires }, () => now);
    if (state === 'revoked') await post(`/keys/${id}/revoke`, {});
    now += 2 * 3_600_000;
    const path = `/keys/${id}/replace`;
    const buttons = async () =>
      (await elementsOf((await get(`/keys/${id}`)).text, 'a.button[href*="/keys/"]')).map(
        ({ text, attributes: { href } }) => [text.trim(), href],
      );
    // Once: in the head of the page, or in the banner of a key that is still used.
    expect(await buttons()).toEqual([['Create its replacement', base + path]]);
    await api.postNote(value);
    await api.settled();
    expect(await buttons()).toEqual([['Create its replacement', base + path]]);
    const { text } = await get(path);
    expect(await heading(text)).toBe('Create the replacement of Night');
    expect(await bannerOf(text)).toContain(state === 'revoked' ? 'was revoked 2 h ago' : 'expired 1 h ago');
    expect(await countElements(text, '[name=grace]')).toBe(0);
    const shown = { token: crypto.randomUUID(), revision: state === 'revoked' ? '1' : '0' };
    const created = await post(path, { ...NEW_KEY, ...shown, name: 'Night', companies: '*' });
    expect(created.text).toContain('the automation is refused until then');
    expect(await countElements((await get('/keys')).text, '.attention')).toBe(0);
    now += 60_000;
    await api.postNote(value);
    await api.settled();
    const [, successor] = await rowsOf('api_keys', organization);
    expect(await buttons()).toContainEqual(['Open its successor', `${base}/keys/${successor?.['id']}`]);
    expect(await buttons()).not.toContainEqual(['Create its replacement', base + path]);
  });

  /** The values with which the form is opened. */
  async function openedFields(text: string): Promise<Record<string, string>> {
    const inputs = await elementsOf(text, '#form input[name][value]');
    const chosen = inputs.filter(
      ({ attributes: { type = '', checked } }) => !['checkbox', 'radio'].includes(type) || checked !== undefined,
    );
    const [networks] = await elementsOf(text, '#allowedNetworks');
    const values = chosen.map(({ attributes: { name = '', value = '' } }) => [name, value.replaceAll('&amp;', '&')]);
    return { ...Object.fromEntries(values), allowedNetworks: networks?.text ?? '' };
  }

  test('a restriction that another administrator adds after the form was opened is not undone', async () => {
    const { organization, base, get, post } = await makeSettings();
    const { id } = await makeKey(organization, { name: 'Night' });
    const path = `/keys/${id}/replace`;
    const fields: Record<string, string> = { ...(await openedFields((await get(path)).text)), owner: 'Mine' };
    const restricted = {
      name: 'Night',
      owner: 'Theirs',
      allowedNetworks: '192.0.2.0/24',
      companies: '*',
      revision: '0',
    };
    expect((await post(`/keys/${id}/change`, restricted)).status).toBe(303);
    const { status, text } = await post(path, fields);
    expect([status, await heading(text)]).toEqual([409, 'Not saved: Create the replacement of Night']);
    expect(await countElements(text, `#conflict a[href="${base}/audit?key=${id}"]`)).toBe(1);
    expect(await rowsOf('api_keys', organization)).toHaveLength(1);
    const again = await openedFields(text);
    expect(again).toMatchObject({
      owner: 'Mine',
      allowedNetworks: '192.0.2.0/24',
      revision: '1',
      token: fields['token'],
    });
    expect((await post(path, again)).status).toBe(200);
    expect((await rowsOf('api_keys', organization))[1]).toMatchObject({
      ...{ owner: 'Mine', allowed_networks: '192.0.2.0/24' },
    });
  });

  test('of a key that was revoked after the form was opened, the form says so, without a grace period', async () => {
    const { organization, get, post } = await makeSettings();
    const { id } = await makeKey(organization, { name: 'Night' });
    const path = `/keys/${id}/replace`;
    const fields = await openedFields((await get(path)).text);
    await revoke(organization, id);
    const { status, text } = await post(path, fields);
    expect([status, await countElements(text, '#conflict'), await countElements(text, '[name=grace]')]).toEqual([
      409, 1, 0,
    ]);
    expect(text).toContain('was revoked');
    const created = await post(path, await openedFields(text));
    expect(created.text).toContain('the automation is refused until then');
  });

  test.each([{}, { revision: '' }])('a form without the revision that it showed is refused: %j', async (sent) => {
    const { organization, post } = await makeSettings();
    const { id } = await makeKey(organization);
    const { status } = await post(`/keys/${id}/replace`, {
      ...NEW_KEY,
      token: crypto.randomUUID(),
      grace: '1h',
      ...sent,
    });
    expect([status, await rowsOf('api_keys', organization)]).toMatchObject([400, [{ revision: 0 }]]);
  });
});
