import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { generateKey, type Scope } from '../../src/domain/api-key.ts';
import { timeOrderedId } from '../../src/domain/record-id.ts';
import { countD1 } from '../support/d1.ts';
import { countLimiters } from '../support/limiter.ts';
import { importRecords, makeApi, makeKey, makeOrganization, revoke, rowsOf, TIME } from '../support/world.ts';

type Api = ReturnType<typeof makeApi>;

/** Every route: what holds for one must hold for all. */
const routes = {
  ping: { scope: undefined, method: 'GET', path: '/api/v1/ping' },
  notes: { scope: 'tickets:note:write', method: 'POST', path: '/api/v1/tickets/1001/notes', body: { message: 'x' } },
  'time entries': { scope: 'tickets:time:write', method: 'POST', path: '/api/v1/tickets/1001/time-entries', body: TIME },
  'an unknown address': { scope: undefined, method: 'GET', path: '/api/v1/nowhere' },
} as const;
type Route = { scope: Scope | undefined; method: string; path: string; body?: unknown };

/** Calls a route with no Authorization but what the headers say. */
function send(api: Api, { method, path, body }: Route, headers: Record<string, string>): Promise<Response> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  return api.send(path, { method, ...init, headers: { 'Content-Type': 'application/json', ...headers } });
}

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const hour = 3_600_000;

/** An answer as a prober sees it: all but the request id, which differs by its nature. */
async function seen(response: Response) {
  const headers = [...response.headers].filter(([name]) => name !== 'x-request-id');
  return { status: response.status, headers, names: [...response.headers.keys()], body: await response.text() };
}

const CONSTANT_401 = {
  status: 401,
  headers: [
    ['cache-control', 'no-store'],
    ['content-type', 'application/problem+json'],
    ['www-authenticate', 'Bearer'],
    ['x-content-type-options', 'nosniff'],
  ],
  names: ['cache-control', 'content-type', 'www-authenticate', 'x-content-type-options', 'x-request-id'],
  body: '{"type":"about:blank","title":"Unauthorized","status":401}',
};

describe.each<[string, Route]>(Object.entries(routes))('%s', (_, route) => {
  const { scope } = route;
  const call = (api: Api, headers: Record<string, string>) => send(api, route, headers);

  test('answers everything that is wrong with a key with one constant 401, and takes nothing from its limit', async () => {
    const organization = await makeOrganization();
    const limit = { quota: 1, windowMs: 10_000 };
    const good = await makeKey(organization, { limit });
    const revoked = await makeKey(organization, { limit });
    const expired = await makeKey(organization, { limit, expires: new Date(Date.now() + hour).toISOString() });
    const unscoped = await makeKey(organization, {
      limit,
      scopes: [scope === 'tickets:note:write' ? 'tickets:time:write' : 'tickets:note:write'],
    });
    await revoke(organization, revoked.id);

    const limiters = countLimiters(env.RATE_LIMITER);
    const api = makeApi({ bindings: { RATE_LIMITER: limiters.namespace } });
    const later = makeApi({ now: () => Date.now() + hour, bindings: { RATE_LIMITER: limiters.namespace } });
    const refused = [
      await call(api, {}),
      await call(api, { Authorization: '' }),
      await call(api, { Authorization: good.value }),
      await call(api, { Authorization: `Basic ${btoa(`x:${good.value}`)}` }),
      await call(api, { Authorization: `Bearer ${good.value} ${good.value}` }),
      await call(api, { Authorization: `Bearer ${good.value}, Bearer ${good.value}` }),
      await call(api, bearer(good.value.slice(0, -1))),
      await call(api, bearer('x'.repeat(10_000))),
      await call(api, bearer(generateKey('twb'))),
      await call(api, bearer(generateKey('stg'))),
      await call(api, bearer(revoked.value)),
      await call(api, bearer(revoked.value)),
      await call(later, bearer(expired.value)),
      await call(later, bearer(expired.value)),
      ...(scope ? [await call(api, bearer(unscoped.value)), await call(api, bearer(unscoped.value))] : []),
    ];
    for (const response of refused) expect(await seen(response)).toEqual(CONSTANT_401);
    expect(limiters.names.filter((name) => !name.startsWith('ip:'))).toEqual([]);
    expect((await call(api, bearer(good.value))).status).not.toBe(401);
    expect(await rowsOf('notes', organization)).toHaveLength(scope === 'tickets:note:write' ? 1 : 0);
  });

  test.each(['revoked', 'expired', ...(scope ? ['of another scope'] : [])])(
    'still answers 401 to a key %s whose limit is used up',
    async (how) => {
      const organization = await makeOrganization();
      const other: Scope = scope === 'tickets:note:write' ? 'tickets:time:write' : 'tickets:note:write';
      const key = await makeKey(organization, {
        limit: { quota: 1, windowMs: 10_000 },
        expires: new Date(Date.now() + hour).toISOString(),
        ...(how === 'of another scope' ? { scopes: [other] } : {}),
      });
      let now = Date.now();
      const api = makeApi({ now: () => now });
      expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(200);
      expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(429);
      if (how === 'revoked') await revoke(organization, key.id);
      if (how === 'expired') now += hour;
      expect(await seen(await call(api, bearer(key.value)))).toEqual(CONSTANT_401);
    },
  );

  test('answers 429 over the per-key limit, with the policy violated and how long to wait', async () => {
    const organization = await makeOrganization({ psa: false });
    const key = await makeKey(organization, { limit: { quota: 2, windowMs: 7_000 } });
    const api = makeApi();
    await call(api, bearer(key.value));
    await call(api, bearer(key.value));
    const response = await call(api, bearer(key.value));
    expect(response.status).toBe(429);
    expect(response.headers.get('Content-Type')).toBe('application/problem+json');
    expect(response.headers.get('Retry-After')).toMatch(/^[1-7]$/);
    expect(response.headers.get('RateLimit-Policy')).toBe('"key";q=2;w=7');
    expect(response.headers.get('RateLimit')).toMatch(/^"key";r=0;t=[1-7]$/);
    expect(await response.json()).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Too many requests',
      status: 429,
      code: 'rate_limited',
      detail: expect.stringMatching(/^This key may send 2 requests in 7 seconds; send the request again after \d s\.$/),
      requestId: response.headers.get('X-Request-Id'),
      'violated-policies': ['key'],
    });
  });

  test('answers 429 over the IP limit before it looks at the key, without a call to D1', async () => {
    const d1 = countD1(env.DB);
    const api = makeApi({ settings: { ipLimit: { quota: 2, windowMs: 10_000 } }, bindings: { DB: d1.db } });
    const from = { 'CF-Connecting-IP': `198.51.100.${Math.floor(Math.random() * 256)}`, ...bearer(generateKey('twb')) };
    await call(api, from);
    await call(api, from);
    d1.calls.length = 0;
    const response = await call(api, from);
    expect(response.status).toBe(429);
    expect(response.headers.get('Retry-After')).toMatch(/^([1-9]|10)$/);
    expect(response.headers.get('RateLimit-Policy')).toBe('"ip";q=2;w=10');
    expect(await response.json()).toMatchObject({ code: 'rate_limited', 'violated-policies': ['ip'] });
    expect(d1.calls).toEqual([]);
  });

  test('is closed to the keys of an organization that is not active', async () => {
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    await importRecords({
      type: 'organization',
      id: organization,
      name: 'Gone',
      psa: true,
      timeZone: 'UTC',
      defaultHourlyRate: 1,
      active: false,
    });
    expect(await seen(await call(makeApi(), bearer(key.value)))).toEqual(CONSTANT_401);
  });
});

describe.each<[string, Route]>([
  ['ping', routes.ping],
  ['notes', routes.notes],
  ['time entries', routes['time entries']],
])('%s', (_, route) => {
  const call = (api: Api, headers: Record<string, string>) => send(api, route, headers);

  test('answers 403 to a good key whose organization has no PSA plan, before it looks at the body', async () => {
    const organization = await makeOrganization({ psa: false });
    const key = await makeKey(organization);
    const response = await call(makeApi(), { ...bearer(key.value), 'Content-Type': 'text/plain' });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: 'psa_not_included', detail: expect.stringContaining('does not include PSA') });
    expect(response.headers.get('RateLimit')).toMatch(/^"key";r=199;/);
  });
});

test('a malformed key touches no D1, an unknown one is looked up once and writes nothing', async () => {
  const d1 = countD1(env.DB);
  const api = makeApi({ bindings: { DB: d1.db } });
  await api.send('/api/v1/ping', { key: 'twb_wrong' });
  await api.send('/api/v1/ping');
  await api.send('/api/v1/ping', { key: generateKey('stg') });
  expect(d1.calls).toEqual([]);
  await api.send('/api/v1/ping', { key: generateKey('twb') });
  expect(d1.calls).toEqual([{ statements: 1, rowsRead: expect.any(Number), rowsWritten: 0 }]);
});

test('the addresses of one IPv6 /64 share a limit, those of the next do not; X-Forwarded-For is not believed', async () => {
  const api = makeApi({ settings: { ipLimit: { quota: 2, windowMs: 10_000 } } });
  const network = `2001:db8:${timeOrderedId(Date.now()).slice(-4)}`;
  const from = async (address: string) =>
    (await api.send('/api/v1/ping', { headers: { 'CF-Connecting-IP': address, 'X-Forwarded-For': crypto.randomUUID() } })).status;
  expect(await from(`${network}:1::1`)).toBe(401);
  expect(await from(`${network}:1:ffff::2`)).toBe(401);
  expect(await from(`${network}:1:abcd::3`)).toBe(429);
  expect(await from(`${network}:2::1`)).toBe(401);
});

test('a scheme in any case, and more than one space before the key, are accepted', async () => {
  const { value } = await makeKey(await makeOrganization());
  const api = makeApi();
  for (const header of [`bearer ${value}`, `BEARER  ${value}`]) {
    expect((await api.send('/api/v1/ping', { headers: { Authorization: header } })).status).toBe(200);
  }
});

test('a changed limit acts on the next request', async () => {
  const { value: key } = await makeKey(await makeOrganization());
  const wide = makeApi({ settings: { keyLimit: { quota: 5, windowMs: 10_000 } } });
  const narrow = makeApi({ settings: { keyLimit: { quota: 2, windowMs: 10_000 } } });
  for (let i = 0; i < 2; i++) expect((await wide.send('/api/v1/ping', { key })).status).toBe(200);
  expect((await narrow.send('/api/v1/ping', { key })).status).toBe(429);
  expect((await wide.send('/api/v1/ping', { key })).status).toBe(200);
});
