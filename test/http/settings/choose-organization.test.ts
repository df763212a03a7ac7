import { describe, expect, test } from 'vitest';
import { makeSignIn } from '../../support/sign-in.ts';
import { importRecords, makeApi } from '../../support/world.ts';

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
  return { ids: organizations.map(({ id }) => id), open };
}

const linksIn = (html: string) =>
  [...html.matchAll(/<a href="\/settings\/([^/"]+)\/keys"><bdi>([^<]*)<\/bdi>/g)].map(([, id, name]) => ({ id, name }));

describe('/settings', () => {
  test('leads to the only organization of an administrator', async () => {
    const { ids, open } = await makeAdministrator('Northwind');
    const response = await open('/settings');
    expect(response.status).toBe(303);
    expect(response.headers.get('Location')).toBe(`/settings/${ids[0]}/keys`);
  });

  test('lets an administrator of several choose, and prefers none', async () => {
    const { ids, open } = await makeAdministrator('Site 10', 'éclair', 'Site 9', 'Zeta', 'A Northwind MSP', 'site 9');
    const response = await open('/settings');
    expect(response.status).toBe(200);
    expect(response.headers.get('Location')).toBeNull();
    expect(response.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
    const html = await response.text();
    expect(html).toContain('<h1>Choose an organization</h1>');
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
    expect(html).toContain('<a href="/sign-out">Sign out</a>');
    // Nothing of one organization.
    expect(html).not.toContain('aria-label="Settings"');
    expect(html).not.toContain('Ada Administrator');
    expect(html).not.toContain('Only 6');
  });

  test('shows ids, which distinguish organizations of the same name, and shows names as text', async () => {
    const { ids, open } = await makeAdministrator('<b>Northwind</b>', '<b>Northwind</b>');
    const html = await (await open('/settings')).text();
    expect(linksIn(html)).toEqual(ids.map((id) => ({ id, name: '&lt;b&gt;Northwind&lt;/b&gt;' })));
    for (const id of ids) expect(html).toContain(`<span class="minor">${id}</span>`);
    expect(html).not.toContain('<b>');
  });
});

test('the pages of one organization link to the others in natural order', async () => {
  const { ids, open } = await makeAdministrator('Site 10', 'Site 9', 'Site 1');
  const html = await (await open(`/settings/${ids[2]}/keys`)).text();
  expect(linksIn(html).map(({ name }) => name)).toEqual(['Site 9', 'Site 10']);
});

test('of more than 100 organizations the first 100 are listed, and every other opens by its address', async () => {
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
