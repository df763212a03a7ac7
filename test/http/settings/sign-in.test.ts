import { describe, expect, test } from 'vitest';
import { countElements } from '../../support/page.ts';
import { formBody, NEW_KEY, signIn } from '../../support/settings.ts';
import type { TokenChanges } from '../../support/sign-in.ts';
import { importRecords, makeApi, makeKey, makeOrganization, rowsOf } from '../../support/world.ts';

const api = makeApi({ config: { signIn: signIn.config } });
const OTHER_ISSUER = 'https://idp.example';

/** An organization whose administrator has an email address of their own. */
async function makeAdministered(): Promise<{ organization: string; email: string }> {
  const organization = await makeOrganization();
  const email = `ada@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'ada', email, name: 'Ada', admin: true });
  return { organization, email };
}

/** Makes the user with this email address an administrator of one more organization. */
const addAdministrator = (organization: string, email: string) =>
  importRecords({ type: 'user', organization, id: 'both', email, name: 'Ada', admin: true });

const open = (path: string, token?: string) =>
  api.send(path, { headers: token === undefined ? {} : { 'Cf-Access-Jwt-Assertion': token } });

describe('signing in', () => {
  test('a valid token opens the administrator’s organization, and /settings redirects to it', async () => {
    const { organization, email } = await makeAdministered();
    const token = await signIn.token(email.toUpperCase());
    const entry = await open('/settings', token);
    expect(entry.status).toBe(303);
    expect(entry.headers.get('Location')).toBe(`/settings/${organization}/keys`);
    const page = await open(`/settings/${organization}/keys`, token);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('Northwind');
  });

  test.each<[string, TokenChanges]>([
    ['for another audience', { audience: 'payroll' }],
    ['of another issuer', { issuer: 'https://elsewhere.example' }],
    ['signed with another key', { forged: true }],
    ['that has expired', { expiresIn: -60 }],
    ['with an unverified email address', { claims: { email_verified: false } }],
    ['without an email address', { claims: { email: undefined } }],
  ])('a token %s is refused', async (_, changes) => {
    const { organization, email } = await makeAdministered();
    const response = await open(`/settings/${organization}/keys`, await signIn.token(email, changes));
    expect(response.status).toBe(401);
    expect(await response.text()).not.toContain('Northwind');
  });

  test('a token with the algorithm none, a malformed token and no token are refused', async () => {
    const { organization, email } = await makeAdministered();
    const [, payload] = (await signIn.token(email)).split('.');
    const none = `${btoa('{"alg":"none"}').replaceAll('=', '')}.${payload}.`;
    for (const token of [none, 'malformed', '', undefined]) {
      expect((await open(`/settings/${organization}/keys`, token)).status).toBe(401);
    }
  });

  test('unknown and inactive users and users who are not administrators are refused', async () => {
    const { organization } = await makeAdministered();
    for (const [id, changes] of Object.entries({ tia: { technician: true }, gone: { admin: true, active: false } })) {
      const email = `${id}@${organization}.example`;
      await importRecords({ type: 'user', organization, id, email, name: id, ...changes });
    }
    for (const user of ['tia', 'gone', 'nobody']) {
      const token = await signIn.token(`${user}@${organization}.example`);
      for (const path of ['/settings', `/settings/${organization}/keys`])
        expect((await open(path, token)).status).toBe(403);
    }
  });

  test('a user who became inactive is refused at the next request', async () => {
    const { organization, email } = await makeAdministered();
    const token = await signIn.token(email);
    expect((await open(`/settings/${organization}/keys`, token)).status).toBe(200);
    await importRecords({ type: 'user', organization, id: 'ada', email, name: 'Ada', admin: true, active: false });
    expect((await open(`/settings/${organization}/keys`, token)).status).toBe(403);
  });

  test('an inactive organization is refused, but not another one of the same user', async () => {
    const [closed, other] = [await makeAdministered(), await makeAdministered()];
    const token = await signIn.token(closed.email);
    const { organization: id } = closed;
    const record = { type: 'organization', id, name: 'Closed', psa: true, timeZone: 'UTC', defaultHourlyRate: 1 };
    await importRecords({ ...record, active: false });
    for (const path of ['/settings', `/settings/${closed.organization}/keys`])
      expect((await open(path, token)).status).toBe(403);

    await addAdministrator(other.organization, closed.email);
    expect((await open('/settings', token)).headers.get('Location')).toBe(`/settings/${other.organization}/keys`);
    expect((await open(`/settings/${closed.organization}/keys`, token)).status).toBe(404);
    expect(await (await open(`/settings/${other.organization}/keys`, token)).text()).not.toContain('Closed');
  });

  test('a service without the configuration returns 503 and the name of the variable, and the API still works', async () => {
    const closed = makeApi({ config: { signIn: undefined } });
    const { organization, email } = await makeAdministered();
    const response = await closed.send(`/settings/${organization}/keys`, {
      headers: { 'Cf-Access-Jwt-Assertion': await signIn.token(email) },
    });
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('ADMIN_ISSUER');
    const key = await makeKey(organization);
    expect((await closed.send('/api/v1/ping', { key: key.value })).status).toBe(200);
  });

  test('the token of another provider is accepted after Bearer in the configured header', async () => {
    const { organization, email } = await makeAdministered();
    const oidc = makeApi({ config: { signIn: { ...signIn.config, issuer: OTHER_ISSUER, header: 'Authorization' } } });
    const token = await signIn.token(email, { issuer: OTHER_ISSUER, claims: { email_verified: true } });
    const headers = { Authorization: `Bearer ${token}` };
    expect((await oidc.send(`/settings/${organization}/keys`, { headers })).status).toBe(200);
  });
});

describe('organizations', () => {
  test('other organizations return 404 for every page and form, and stay unchanged', async () => {
    const [mine, theirs] = [await makeAdministered(), await makeAdministered()];
    const token = await signIn.token(mine.email);
    const key = await makeKey(theirs.organization, { name: 'Theirs' });
    const before = [await rowsOf('api_keys', theirs.organization), await rowsOf('audit_log', theirs.organization)];
    const headers = {
      'Cf-Access-Jwt-Assertion': token,
      Origin: 'https://api.example',
      'Content-Type': 'application/x-www-form-urlencoded',
    };
    const body = formBody({ token: crypto.randomUUID(), ...NEW_KEY, grace: 'now' });
    const pages = [
      '/keys',
      '/keys.csv',
      '/new-key',
      '/audit',
      '/audit.csv',
      '/refused',
      '/which-key',
      '/revoke-all',
      '',
    ];
    const ofKey = ['', '/change', '/rotate', '/revoke'].map((page) => `/keys/${key.id}${page}`);
    for (const path of [...pages, ...ofKey]) {
      const response = await open(`/settings/${theirs.organization}${path}`, token);
      expect([path, response.status]).toEqual([path, 404]);
    }
    for (const path of ofKey) {
      const response = await open(`/settings/${mine.organization}${path}`, token);
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.text()).not.toContain('Theirs');
    }
    const forms = ['/keys', '/revoke-all', '/which-key', ...ofKey.slice(1)];
    for (const base of [theirs.organization, mine.organization]) {
      for (const path of base === mine.organization ? ofKey.slice(1) : forms) {
        const response = await api.send(`/settings/${base}${path}`, { method: 'POST', headers, body });
        expect([path, response.status]).toEqual([path, 404]);
      }
    }
    const pasted = { method: 'POST', headers, body: formBody({ pasted: key.value }) };
    const which = await (await api.send(`/settings/${mine.organization}/which-key`, pasted)).text();
    expect(which).not.toContain(key.id);
    for (const path of [`/audit?key=${key.id}`, `/audit?q=${key.id}`])
      expect(await countElements(await (await open(`/settings/${mine.organization}${path}`, token)).text(), 'td')).toBe(
        0,
      );
    expect([await rowsOf('api_keys', theirs.organization), await rowsOf('audit_log', theirs.organization)]).toEqual(
      before,
    );
    expect(await rowsOf('api_keys', mine.organization)).toEqual([]);
  });
});
