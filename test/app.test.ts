import { describe, expect, test } from 'vitest';
import {
  makeApi,
  makeCountedApi,
  makeKey,
  makeOrganization,
  makeWorld,
  problemOf,
  revoke,
  rowsOf,
} from './support/world.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('every response', () => {
  test('every response forbids storing and sniffing, and its request id cannot be chosen by the caller', async () => {
    const { key, api } = await makeWorld();
    const responses = [
      await api.send('/'),
      await api.send('/api/v1/ping'),
      await api.send('/api/v1/ping', { key, headers: { 'X-Request-Id': 'mine' } }),
      await api.postNote(key),
      await api.postNote(key, {}),
      await api.send('/api/v1/nowhere', { key }),
    ];
    for (const { headers } of responses) {
      expect(headers.get('Cache-Control')).toBe('no-store');
      expect(headers.get('X-Content-Type-Options')).toBe('nosniff');
      expect(headers.get('X-Request-Id')).toMatch(UUID);
    }
    expect(new Set(responses.map(({ headers }) => headers.get('X-Request-Id'))).size).toBe(responses.length);
  });

  test('every response to a good key shows its limit', async () => {
    const { key } = await makeWorld();
    const api = makeApi({ config: { keyLimit: { quota: 3, windowMs: 10_000 } } });
    const fields = ({ headers }: Response) => [headers.get('RateLimit-Policy'), headers.get('RateLimit')];
    expect(fields(await api.send('/api/v1/ping', { key }))).toEqual(['"key";q=3;w=10', '"key";r=2;t=10']);
    expect(fields(await api.postNote(key, {}))).toEqual(['"key";q=3;w=10', '"key";r=1;t=10']);
    expect(fields(await api.send('/api/v1/nowhere', { key }))).toEqual(['"key";q=3;w=10', '"key";r=0;t=10']);
    expect(fields(await api.send('/api/v1/ping'))).toEqual([null, null]);
  });
});

describe('an unknown address', () => {
  test('an unknown address returns 404 to a good key of any scope, 403 without the plan, and 401 to any other key', async () => {
    const { value: key } = await makeKey(await makeOrganization(), { scopes: ['tickets:note:write'] });
    const { value: withoutPlan } = await makeKey(await makeOrganization({ psa: false }));
    const api = makeApi();
    for (const path of [
      '/api/v1/nowhere',
      '/api/v1/',
      '/api/v1',
      '/api/v1/ping/',
      '/api/v1/tickets/1001',
      '/api/v1/tickets//notes',
    ]) {
      const response = await api.send(path, { key });
      expect([path, await problemOf(response)]).toEqual([path, '404 not_found']);
      expect(await problemOf(api.send(path, { key: withoutPlan }))).toBe('403 psa_not_included');
      expect((await api.send(path)).status).toBe(401);
    }
  });

  test.each([
    ['/api/v1/ping/', 'The path ends with a slash; send the request to /api/v1/ping, without it.'],
    ['/psa-x/', 'The path ends with a slash; send the request to /psa-x, without it.'],
    ['//api/v1/ping', 'The path contains //; remove one slash, or fill in what is missing between'],
    ['/api/v1//ping', 'The path contains //; remove one slash, or fill in what is missing between'],
    ['/api/v1/tickets//notes', 'what is missing between them, such as the ticket id.'],
    ['/api/v1/tickets/1001/notes//', 'The path contains //; remove one slash'],
    ['/api/v1/nowhere', 'There is no API endpoint at this path; check the path.'],
    ['/', 'There is nothing at this path; the API is at /api/v1.'],
  ])('the 404 for the path %s shows what is wrong with it', async (path, detail) => {
    const { key } = await makeWorld();
    const response = await makeApi().send(path, { key });
    expect([response.status, await response.json()]).toMatchObject([404, { detail: expect.stringContaining(detail) }]);
  });

  test('the 404 repeats only the start of a long path, and no key', async () => {
    const { key } = await makeWorld();
    const detailOf = async (path: string) => (await (await makeApi().send(path)).json<{ detail: string }>()).detail;
    expect(await detailOf(`/${'x'.repeat(300)}/`)).toContain(` to /${'x'.repeat(199)}…, without it.`);
    expect(await detailOf(`/${key}/`)).not.toContain(key.slice(4));
  });

  test('an address with another method returns 405 with Allow', async () => {
    const { key, api } = await makeWorld();
    const { value: withoutPlan } = await makeKey(await makeOrganization({ psa: false }));
    const cases = [
      ['POST', '/api/v1/ping', 'GET, HEAD'],
      ['GET', '/api/v1/tickets/1001/notes', 'POST'],
      ['HEAD', '/api/v1/tickets/1001/notes', 'POST'],
      ['DELETE', '/api/v1/tickets/1001/time-entries', 'POST'],
      ['OPTIONS', '/api/v1/tickets/1001/time-entries', 'POST'],
    ] as const;
    for (const [method, path, allow] of cases) {
      const response = await api.send(path, { method, key });
      expect([method, response.status, response.headers.get('Allow')]).toEqual([method, 405, allow]);
      expect((await api.send(path, { method, key: withoutPlan })).status).toBe(403);
      expect((await api.send(path, { method })).status).toBe(401);
    }
  });

  test('an unknown address outside the API returns 404 without a key', async () => {
    expect(await problemOf(makeApi().send('/nowhere'))).toBe('404 not_found');
  });
});

describe('a Host of which no URL can be made', () => {
  test('every page and path returns the same 400, and the API only to a good key whose organization has the plan', async () => {
    const { organization, key } = await makeWorld();
    const { value: withoutPlan } = await makeKey(await makeOrganization({ psa: false }));
    const api = makeApi({ origin: 'https://a.example, b.example' });
    const seen = async (path: string, init: Parameters<typeof api.send>[1] = {}) => {
      const { status, headers } = await api.send(path, init);
      const kept = [...headers].filter(([name]) => !/^(x-request-id|ratelimit.*)$/.test(name));
      const body = (await api.send(path, init)).text();
      return [status, kept, (await body).replace(/"requestId":"[^"]+"/, '')] as const;
    };
    const refused = await seen('/nowhere');
    expect(refused).toMatchObject([400, expect.anything(), expect.stringContaining('"code":"invalid_host"')]);
    const settings = `/settings/${organization}/keys`;
    for (const path of ['/', '/api', '/settings', settings]) expect([path, await seen(path)]).toEqual([path, refused]);
    expect(await seen(settings, { method: 'POST' })).toEqual(refused);
    for (const path of ['/api/v1/ping', '/api/v1/nowhere', '/api/v1/tickets/1001/notes']) {
      expect([path, (await api.send(path)).status]).toEqual([path, 401]);
      expect([path, await problemOf(api.send(path, { key: withoutPlan }))]).toEqual([path, '403 psa_not_included']);
    }
    expect(await seen('/api/v1/ping', { key })).toEqual(refused);
    expect(await problemOf(api.postNote(key))).toBe('400 invalid_host');
    expect(await rowsOf('notes', organization)).toEqual([]);
  });

  test('never hides from a warm isolate that the key was revoked', async () => {
    const { organization, key, keyId } = await makeWorld();
    const api = makeApi({ origin: 'https://a.example, b.example' });
    expect(await problemOf(api.postNote(key))).toBe('400 invalid_host');
    await revoke(organization, keyId);
    expect((await api.postNote(key)).status).toBe(401);
  });
});

describe('healthz', () => {
  test.each([
    ['open', 'ok'],
    ['paused', 'paused'],
  ] as const)('an %s service responds with "%s", without calls to D1 or limiters', async (mode, status) => {
    const { api, d1, limiters } = makeCountedApi({ config: { mode } });
    const response = await api.send('/healthz');
    expect(response.status).toBe(200);
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    expect(await response.json()).toEqual({
      status,
      limits: expect.stringMatching(/^200 requests in any 10 seconds per key, .* 1,200 .* per source address\. /),
    });
    const head = await api.send('/healthz', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect([d1, limiters]).toEqual([[], []]);
  });
});
