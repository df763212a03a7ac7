import { describe, expect, test } from 'vitest';
import { countElements, csvRows, elementsOf } from '../../support/page.ts';
import { copyKey, keyIn, makeSettings } from '../../support/settings.ts';
import { importRecords, makeKey, revoke, rotate, rowsOf } from '../../support/world.ts';

describe('the list of keys', () => {
  test('the list shows three steps with a link to check again until a key has written', async () => {
    const { organization, api, get } = await makeSettings();
    const shown = async () => {
      const { text } = await get('/keys');
      const link = elementsOf(text, `.steps a[href="/settings/${organization}/keys"]`);
      return Promise.all([link, countElements(text, '.steps > li'), countElements(text, '.keys tbody tr')]);
    };
    const check = expect.objectContaining({ text: 'Check again' });
    expect(await shown()).toEqual([[check], 3, 0]);
    const key = await makeKey(organization);
    expect(await shown()).toEqual([[check], 3, 1]);
    expect((await api.postNote(key.value)).status).toBe(201);
    expect(await shown()).toEqual([[], 0, 1]);
    await revoke(organization, key.id);
    expect(await shown()).toEqual([[], 0, 0]);
    expect((await elementsOf((await get('/keys')).text, '.banner')).map(({ text }) => text.trim())).toEqual([
      'No key is in use. Look among all keys',
    ]);
  });

  test('each list marks the keys that are refused', async () => {
    const { organization, api, get } = await makeSettings();
    const key = await makeKey(organization, { name: 'Bound', networks: '192.0.2.0/24' });
    const ended = await makeKey(organization, { name: 'Bound before' });
    await revoke(organization, ended.id);
    for (const { value } of [key, ended]) await api.postNote(value, undefined, { 'CF-Connecting-IP': '198.51.100.9' });
    await api.settled();
    for (const [query, marked] of [
      ['', 1],
      ['?q=bound', 1],
      ['?state=ended', 1],
      ['?state=all&q=bound', 2],
    ] as const)
      expect([query, await countElements((await get(`/keys${query}`)).text, '.keys .mark')]).toEqual([query, marked]);
  });

  test('the list warns an organization whose plan lacks PSA', async () => {
    const [poor, rich] = [await makeSettings({ psa: false }), await makeSettings()];
    const warnings = async ({ get }: typeof poor) => countElements((await get('/keys')).text, '[role=alert]');
    expect([await warnings(poor), await warnings(rich)]).toEqual([1, 0]);
  });

  test('the list and its file find the keys of a creator who is no longer an administrator', async () => {
    const { organization, get, post, createKey } = await makeSettings();
    await createKey();
    const listed = async () => countElements((await get('/keys?fact=key_of_former')).text, 'tbody tr');
    const chips = async () => countElements((await get('/keys')).text, '.state-chips a[href*=key_of_former]');
    const marks = async () => [await listed(), await chips()];
    const creator = async () => csvRows((await get('/keys.csv')).text)[0];
    expect(await marks()).toEqual([0, 0]);
    expect(await creator()).toContain('"Ada <b>Lovelace</b>","yes"');
    const email = `ada@${organization}.example`;
    await importRecords(
      { type: 'user', organization, id: 'ada', email: `former@${organization}.example`, name: 'Ada' },
      { type: 'user', organization, id: 'olga', email, name: 'Olga', admin: true },
    );
    expect(await marks()).toEqual([1, 1]);
    expect(await creator()).toContain('"Ada","no"');
    expect(await countElements((await get('/keys')).text, '.attention')).toBe(0);
    const [key] = await rowsOf('api_keys', organization);
    const rotation = { token: crypto.randomUUID(), expires: 'none', grace: '24h' };
    expect((await post(`/keys/${key?.['id']}/rotate`, rotation)).status).toBe(200);
    expect(await marks()).toEqual([0, 0]);
  });
});

test('the file of keys contains the daily limits and the networks of each key', async () => {
  const { organization, get } = await makeSettings();
  await makeKey(organization);
  await makeKey(organization, { dayLimit: { records: 50, minutes: 480 }, networks: '203.0.113.0/24 192.0.2.9' });
  const { text } = await get('/keys.csv');
  expect(text.split('\r\n')[0]).toMatch(
    /Owner"?,"?Description"?,"?Companies"?,"?Limit of new records per day"?,"?Limit of minutes per day"?,"?Allowed networks"?$/,
  );
  expect(csvRows(text)).toEqual([
    expect.stringMatching(/,50,480,"203\.0\.113\.0\/24 192\.0\.2\.9\/32"$/),
    expect.stringMatching(/,,,(?:"")?$/),
  ]);
  const [, oldest] = csvRows((await get('/keys.csv?before=')).text);
  expect(oldest).toBe(csvRows(text)[1]);
});

test('names are shown as text, never as markup, and are not formulas in a spreadsheet', async () => {
  const { organization, api, get, createKey } = await makeSettings();
  const name = '=HYPERLINK("//evil")<script>alert(1)</script><img src=x onerror=alert(1)>';
  const { text } = await createKey({ name });
  const headers = { 'Idempotency-Key': '<script/src=1>', 'User-Agent': '"><script>' };
  await api.postNote(keyIn(text), { message: name }, headers);
  const [key] = await rowsOf('api_keys', organization);
  const paths = ['/keys', `/keys/${key?.['id']}`, `/keys/${key?.['id']}/revoke`, '/audit'];
  const pages = await Promise.all([...paths, `/audit?q=${encodeURIComponent(name)}`].map(get));
  for (const page of [text, ...pages.map((one) => one.text)]) {
    expect(page).not.toMatch(/<script[>/]/);
    expect(page).not.toContain('<img src=x');
    expect(page).not.toContain('<b>Lovelace');
  }
  for (const path of ['/keys.csv', '/audit.csv']) expect((await get(path)).text).toContain('"\'=HYPERLINK(""//evil"")');
});

describe('“Which key is this?”', () => {
  test('finds a key by its value or hint, and never repeats the value', async () => {
    const { organization, base, get, post } = await makeSettings();
    const key = await makeKey(organization);
    const opened = (await get('/which-key')).text;
    expect(await countElements(opened, '[name=pasted][autofocus]')).toBe(1);
    expect((await elementsOf(opened, 'nav.trail a')).map(({ text }) => text)).toEqual(['All keys']);
    const find = async (pasted: string) => {
      const { text, status, location, notice } = await post('/which-key', { pasted });
      expect(`${text} ${notice}`).not.toContain(key.value);
      return [status, location];
    };
    for (const pasted of [key.value, ` Bearer ${key.value}\n`, key.hint, key.hint.replace('…', '...')])
      expect(await find(pasted)).toEqual([303, `${base}/keys/${key.id}`]);
    const adviceOn = async (value: string) => (await post('/which-key', { pasted: value })).notice;
    expect(await adviceOn(key.value)).toContain('choose Rotate or Revoke on this page.');
    const { value } = await rotate(organization, key.id, { grace: '24h' });
    expect(await adviceOn(key.value)).toContain('choose Revoke now on this page: its successor is not affected.');
    expect(await adviceOn(value)).toContain('choose Rotate or Revoke on this page.');
    await revoke(organization, key.id);
    expect(await adviceOn(key.value)).toContain('It no longer works.');
    expect(await find(key.value)).toEqual([303, `${base}/keys/${key.id}`]);
  });

  test('lists all keys of a text, with their states and how to end them, and names those of others by their hints only', async () => {
    const { organization, base, post } = await makeSettings();
    const [one, two, ended] = [await makeKey(organization), await makeKey(organization), await makeKey(organization)];
    await revoke(organization, ended.id);
    const other = await makeKey((await makeSettings()).organization);
    const log = `{"apiKey":"${one.value}"}\nINFO curl -H "Authorization: Bearer ${two.value}"\n${ended.hint} ${other.value}`;
    const { status, text } = await post('/which-key', { pasted: log });
    expect(status).toBe(200);
    for (const { value } of [one, two, ended, other]) expect(text).not.toContain(value);
    const actions = (await elementsOf(text, 'td form')).map(({ attributes }) => attributes['action']);
    const pathsOf = ({ id }: typeof one) => [`${base}/keys/${id}/rotate`, `${base}/keys/${id}/revoke`];
    expect(actions).toEqual([...pathsOf(one), ...pathsOf(two)]);
    expect((await elementsOf(text, 'th a')).map(({ attributes }) => attributes['href'])).toEqual(
      [one, two, ended].map(({ id }) => `${base}/keys/${id}`),
    );
    expect(text).toContain(other.hint);
    expect(text).toContain('Your keys in the text: 3. If others may have seen it');
  });

  test('says that another value in the text is not complete', async () => {
    const { organization, base, post } = await makeSettings();
    const [key, cut] = [await makeKey(organization), await makeKey(organization)];
    const { status, text } = await post('/which-key', { pasted: `${key.value} ${cut.value.slice(0, -1)}` });
    expect(status).toBe(200);
    expect((await elementsOf(text, 'th a')).map(({ attributes }) => attributes['href'])).toEqual([
      `${base}/keys/${key.id}`,
    ]);
    expect(text).toContain('1 more value is cut or mistyped');
    const alone = await post('/which-key', { pasted: cut.value.slice(0, -1) });
    expect(alone.text).toContain('1 value is cut or mistyped: a key has 46 characters after');
    expect(alone.text).not.toContain('No key or hint of this service');
  });

  test('leads from a cut value, and from the ends of a value, to the keys that begin like it', async () => {
    const { organization, base, get, post } = await makeSettings();
    const [key] = [await makeKey(organization, { name: 'Cut' }), await makeKey(organization)];
    const beginning = key.value.slice(0, 8);
    for (const [pasted, says] of [
      [key.value.slice(0, 8), '1 value is cut or mistyped'],
      [key.value.slice(0, 30), '1 value is cut or mistyped'],
      [`${beginning}…${key.value.slice(-4)}`, `No key of yours has this hint: ${beginning}…`],
    ] as const) {
      const { text } = await post('/which-key', { pasted });
      expect((await elementsOf(text, '[role=alert]'))[0]?.text).toContain(says);
      const [link] = await elementsOf(text, 'main p a');
      expect(link).toEqual(expect.objectContaining({ text: beginning }));
      const list = String(link?.attributes['href']).slice(base.length).replaceAll('&amp;', '&');
      expect((await elementsOf((await get(list)).text, '.keys th .name')).map((name) => name.text)).toEqual(['Cut']);
    }
  });

  test('lists the keys that have the same hint', async () => {
    const { organization, post } = await makeSettings();
    const key = await makeKey(organization);
    await copyKey(organization, key.id, { prefix: 'same-', count: 1 });
    expect(await countElements((await post('/which-key', { pasted: key.hint })).text, 'tbody tr')).toBe(2);
  });

  test('shows that a text is neither a key nor a hint, or no key of the organization', async () => {
    const { organization, post } = await makeSettings();
    const key = await makeKey(organization);
    const other = await makeKey((await makeSettings()).organization);
    // The focus does not skip the result.
    for (const pasted of [key.value.slice(0, -1), other.value, other.hint]) {
      const { status, text } = await post('/which-key', { pasted });
      const counts = [
        await countElements(text, '[role=alert]'),
        await countElements(text, '[role=status], [autofocus]'),
      ];
      expect([status, ...counts]).toEqual([200, 1, 0]);
    }
  });
});
