import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { countD1 } from '../../support/d1.ts';
import { countElements, elementsOf } from '../../support/page.ts';
import { copyKey } from '../../support/settings.ts';
import { makeSignIn } from '../../support/sign-in.ts';
import { importRecords, makeApi, makeKey, NOTE, revoke, rotate } from '../../support/world.ts';

const signIn = await makeSignIn();
const api = makeApi({ config: { signIn: signIn.config } });

/** Organizations with these names and one administrator. */
async function makeAdministrator(...names: string[]) {
  const run = crypto.randomUUID().slice(0, 8);
  const email = `ada@${run}.example`;
  const organizations = names.map((name, index) => ({ id: `${run}-${index}`, name }));
  await importRecords(
    ...organizations.flatMap(({ id, name }) => [
      { type: 'organization', id, name, psa: true, timeZone: 'UTC', defaultHourlyRate: 1 },
      { type: 'user', organization: id, id: 'ada', email, name: 'Ada Administrator', admin: true },
    ]),
  );
  const token = await signIn.token(email);
  const open = (path: string) => api.send(path, { headers: { 'Cf-Access-Jwt-Assertion': token } });
  return { ids: organizations.map(({ id }) => id), email, open };
}

const linksIn = (html: string) =>
  [...html.matchAll(/<a href="\/settings\/([^/"]+)\/keys"[^>]*><bdi>([^<]*)<\/bdi>/g)].map(([, id, name]) => ({
    id,
    name,
  }));

describe('/settings', () => {
  test('an administrator of several organizations chooses, without a preselection', async () => {
    const { ids, email, open } = await makeAdministrator(
      'Site 10',
      'éclair',
      'Site 9',
      'Zeta',
      'A Northwind MSP',
      'site 9',
    );
    const response = await open('/settings');
    expect(response.status).toBe(200);
    expect(response.headers.get('Location')).toBeNull();
    expect(response.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
    const html = await response.text();
    expect(html).toContain('<h1>Organizations</h1>');
    expect(linksIn(html)).toEqual(
      [
        [4, 'A Northwind MSP'],
        [1, 'éclair'],
        [5, 'site 9'],
        [2, 'Site 9'],
        [0, 'Site 10'],
        [3, 'Zeta'],
      ].map(([index, name]) => ({ id: ids[Number(index)], name })),
    );
    const menu = await elementsOf(html, '.user a, .user .pop bdi');
    expect(menu.map(({ text }) => text)).toEqual(['Ada Administrator', email, 'Help for administrators', 'Sign out']);
    // Nothing of one organization.
    expect(html).not.toContain('aria-label="Settings"');
    expect(html).not.toContain('Only 6');
    // An organization with another name for the administrator.
    await importRecords({ type: 'user', organization: ids[2], id: 'ada', email, name: 'Mallory', admin: true });
    const names = await elementsOf(await (await open('/settings')).text(), '.user bdi');
    expect(names.map(({ text }) => text)).toEqual([email, email]);
  });

  test('the page shows the id of each organization, and names as text', async () => {
    const { ids, open } = await makeAdministrator('<b>Northwind</b>', '<b>Northwind</b>');
    const html = await (await open('/settings')).text();
    for (const id of ids) expect(html).toContain(`<span class="minor">${id}</span>`);
    expect(html).not.toContain('<b>');
  });
});

test('the page of a wrong URL says who is signed in, and leads to the organizations', async () => {
  const { email, open } = await makeAdministrator('Northwind');
  const response = await open('/settings/another/keys');
  const html = await response.text();
  expect([response.status, (await elementsOf(html, 'h1')).map(({ text }) => text)]).toEqual([
    404,
    ['No organization of yours is at this URL'],
  ]);
  expect(html).toContain(`${email}, who administers no organization at /settings/another/keys.`);
  expect(await countElements(html, 'main a[href="/settings"]')).toBe(1);
});

describe('the filter of organizations', () => {
  const inputs = (html: string) => countElements(html, 'form[action="/settings"] input[name=q]');

  test('a filter finds one of five organizations by a part of its name or id', async () => {
    const { ids, open } = await makeAdministrator('Alpha', 'Beta', 'Gamma', 'Delta', 'Alphabet');
    const found = async (q: string) => linksIn(await (await open(`/settings?q=${q}`)).text()).map(({ name }) => name);
    expect(await found('ALPHA')).toEqual(['Alpha', 'Alphabet']);
    expect(await found(ids[0]?.slice(0, 8) ?? '')).toHaveLength(5);
    expect(await found('%3Cb%3E')).toEqual([]);
    expect(await inputs(await (await open('/settings')).text())).toBe(1);
    expect(await inputs(await (await open(`/settings/${ids[0]}/keys`)).text())).toBe(1);
  });

  test('a filter that finds one organization opens it, on the tab of the page', async () => {
    const { ids, open } = await makeAdministrator('Alpha', 'Beta', 'Gamma', 'Delta', 'Alphabet');
    const target = async (query: string) => (await open(`/settings?${query}`)).headers.get('Location');
    expect(await target('q=gamm')).toBe(`/settings/${ids[2]}/keys`);
    expect(await target(`q=${ids[2]}&tab=audit`)).toBe(`/settings/${ids[2]}/audit`);
    expect(await target('q=alphabet&tab=%2F%2Fevil.example')).toBe(`/settings/${ids[4]}/keys`);
    expect(await target('q=alpha')).toBeNull();
    expect(await target('q=')).toBeNull();
  });

  test('four organizations are shown without a filter', async () => {
    const { ids, open } = await makeAdministrator('Alpha', 'Beta', 'Gamma', 'Delta');
    for (const path of ['/settings', `/settings/${ids[0]}/keys`])
      expect(await inputs(await (await open(path)).text())).toBe(0);
  });
});

test('the overview lists organizations by need, with as many reasons as their lists of keys have tiles', async () => {
  const { ids, open } = await makeAdministrator('Alpha', 'Beta', 'Gamma', 'Delta');
  const [, beta = '', gamma = '', delta = ''] = ids;
  const soon = new Date(Date.now() + 10 * DAY_MS).toISOString();
  await makeKey(beta, { expires: soon });
  await makeKey(beta, { expires: soon });
  await makeKey(gamma, { expires: soon });
  const noteKey = await makeKey(gamma, { scopes: ['tickets:note:write'] });
  await rotate(gamma, (await makeKey(gamma, { expires: soon })).id, { grace: '1h' });
  await makeKey(gamma, {}, () => Date.now() - 61 * DAY_MS);
  const revoked = await makeKey(delta);
  await revoke(delta, revoked.id);
  await api.postTime(noteKey.value);
  await api.settled();
  const html = await (await open('/settings')).text();
  expect(linksIn(html).map(({ name }) => name)).toEqual(['Gamma', 'Beta', 'Alpha', 'Delta']);
  const rows = await elementsOf(html, 'tbody td');
  expect(rows.map(({ text }) => text)).toEqual([
    ...['2 to look at', '1 key lacks a scope', '–', '5'],
    ...['1 to look at', '2 keys expire within 14 days', '–', '2'],
    ...['–', '–', '–', '0'],
    ...['–', '–', '–', '0'],
  ]);
  for (const [id, tiles] of [
    [gamma, 2],
    [beta, 1],
    [delta, 0],
  ] as const)
    expect(await countElements(await (await open(`/settings/${id}/keys`)).text(), '.attention li')).toBe(tiles);
  expect(await countElements(html, `td a[href="/settings/${gamma}/keys/${noteKey.id}"]`)).toBe(1);
});

test('the overview begins with an organization whose keys are all refused, then one that loses work, and says how much time waits', async () => {
  const { ids, open } = await makeAdministrator('Alpha', 'Beta', 'Gamma', 'Delta');
  const [alpha = '', beta = '', gamma = '', delta = ''] = ids;
  await makeKey(delta);
  await makeKey(alpha, { expires: new Date(Date.now() + 10 * DAY_MS).toISOString() });
  await makeKey(alpha, {}, () => Date.now() - 61 * DAY_MS);
  await importRecords(
    { type: 'company', organization: beta, id: 'acme', name: 'Acme' },
    { type: 'ticket', organization: beta, id: '1001', company: 'acme' },
  );
  const { value } = await makeKey(beta);
  await api.postNote(value, NOTE, { 'Idempotency-Key': 'again' });
  await api.postNote(value, { ...NOTE, message: 'Another' }, { 'Idempotency-Key': 'again' });
  await api.settled();
  await importRecords({
    type: 'user',
    organization: beta,
    id: 'bot',
    email: 'bot@x.example',
    name: 'Bot',
    service: true,
  });
  await api.postTime(value);
  await api.settled();
  const off = { type: 'organization', psa: false, timeZone: 'UTC', defaultHourlyRate: 1 };
  await importRecords({ ...off, id: gamma, name: 'Gamma' }, { ...off, id: delta, name: 'Delta' });
  const html = await (await open('/settings')).text();
  const rows = await elementsOf(html, 'tbody td');
  const isOff = 'Write-back is off: every request is refused';
  expect(rows.map(({ text }) => text.replaceAll(/\s+/g, ' '))).toEqual([
    ...['–', isOff, '–', '1'],
    ...['2 to look at', '1 write may be lost', '1 time entry waits', '1'],
    ...['1 to look at', '1 key expires within 14 days', '–', '2'],
    ...['–', 'Write-back is off, and no key is in use', '–', '0'],
  ]);
  expect(await countElements(html, `td a[href="/settings/${beta}/time"]`)).toBe(1);
});

test('the overview reads a limited number of rows for each organization, in one call', async () => {
  const { ids, email } = await makeAdministrator(...Array.from({ length: 10 }, (_, index) => `Site ${index}`));
  for (const id of ids) {
    const key = await makeKey(id);
    await copyKey(id, key.id, { prefix: 'live-', count: 149 });
    await copyKey(id, key.id, { prefix: '0000-', count: 300, revoked: true });
  }
  const { db, calls } = countD1(env.DB);
  const counted = makeApi({ config: { signIn: signIn.config }, bindings: { DB: db } });
  const headers = { 'Cf-Access-Jwt-Assertion': await signIn.token(email) };
  expect((await counted.send('/settings', { headers })).status).toBe(200);
  // The sign-in, and the overview.
  expect(calls).toHaveLength(2);
  expect(calls[1]?.rowsRead).toBeLessThanOrEqual(10 * 1_300);
});

test('the menu of organizations has the current one first, the others in natural order, and keeps the tab', async () => {
  const { ids, open } = await makeAdministrator('Site 10', 'Site 9', 'Site 1');
  const html = await (await open(`/settings/${ids[0]}/keys`)).text();
  expect(linksIn(html).map(({ name }) => name)).toEqual(['Site 10', 'Site 1', 'Site 9']);
  for (const [path, tab] of [
    ['audit?action=api_key.created', 'audit'],
    ['refused', 'refused'],
    ['new-key', 'keys'],
    ['key-rules', 'key-rules'],
  ]) {
    const links = await elementsOf(await (await open(`/settings/${ids[0]}/${path}`)).text(), '.switcher nav a');
    expect(links.map(({ attributes }) => [attributes['href'], attributes['aria-current']])).toEqual([
      [`/settings/${ids[0]}/${tab}`, 'true'],
      [`/settings/${ids[2]}/${tab}`, undefined],
      [`/settings/${ids[1]}/${tab}`, undefined],
    ]);
  }
});

test('an administrator of more than 100 organizations sees the first 100, and every other one opens by its address', async () => {
  const names = Array.from({ length: 103 }, (_, index) => `Site ${String(index).padStart(3, '0')}`);
  const { ids, open } = await makeAdministrator(...names);
  const html = await (await open('/settings')).text();
  expect(linksIn(html).map(({ name }) => name)).toEqual(names.slice(0, 100));
  expect(html).toContain('Only 100 organizations are listed.');
  for (const index of [0, 100, 102]) {
    const page = await open(`/settings/${ids[index]}/keys`);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain(`<bdi>${names[index]}</bdi>`);
  }
  expect((await open('/settings/nowhere/keys')).status).toBe(404);
});
