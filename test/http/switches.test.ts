import { env } from 'cloudflare:workers';
import { describe, expect, test, vi } from 'vitest';
import { generateKey, hashKey, keyHint } from '../../src/domain/api-key.ts';
import { parseIpLimitOverrides } from '../../src/domain/ip-limit-overrides.ts';
import { aroundD1, countD1 } from '../support/d1.ts';
import { countLimiters } from '../support/limiter.ts';
import { loggedLines } from '../support/searched-logs.ts';
import { makeSignIn } from '../support/sign-in.ts';
import { importRecords, makeApi, makeKey, makeOrganization, revoke, rowsOf } from '../support/world.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** An app with these settings whose calls are counted. */
function counting(settings: Parameters<typeof makeApi>[0] = {}) {
  const d1 = countD1(env.DB);
  const limiters = countLimiters(env.RATE_LIMITER);
  return {
    api: makeApi({ ...settings, bindings: { DB: d1.db, RATE_LIMITER: limiters.namespace } }),
    d1: d1.calls,
    limiters: limiters.names,
  };
}

/** An answer as a prober sees it: all but the request id. */
const seen = async (response: Response) => ({
  status: response.status,
  headers: [...response.headers].filter(([name]) => name !== 'x-request-id'),
  body: await response.text(),
});

describe('healthz', () => {
  test.each([
    ['open', 'ok'],
    ['paused', 'paused'],
  ] as const)('of a service that is %s says "%s", asks nobody and is not to be stored', async (mode, status) => {
    const { api, d1, limiters } = counting({ config: { mode } });
    const response = await api.send('/healthz');
    expect(response.status).toBe(200);
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    expect(await response.text()).toBe(`{"status":"${status}"}`);
    const head = await api.send('/healthz', { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect([d1, limiters]).toEqual([[], []]);
  });
});

describe('a blocked key', () => {
  async function world() {
    const organization = await makeOrganization();
    return { organization, key: await makeKey(organization) };
  }
  const blockedBy = { id: ({ id }: { id: string }) => id, hint: ({ hint }: { hint: string }) => hint };

  test.each(Object.entries(blockedBy))(
    'by its %s is answered and costs the same as an unknown one, and nothing is written',
    async (_, by) => {
      const { organization, key } = await world();
      const before = await rowsOf('audit_log', organization);
      const { api, d1, limiters } = counting({ config: { blockedKeys: new Set([by(key)]) } });
      const cost = () => ({
        d1: d1.splice(0).map(({ statements, rowsWritten }) => ({ statements, rowsWritten })),
        limiters: limiters.splice(0).map((name) => name.split(':')[0]),
      });
      const routes = [
        (value: string) => api.send('/api/v1/ping', { key: value }),
        (value: string) => api.postNote(value),
        (value: string) => api.postTime(value),
        (value: string) => api.send('/api/v1/nowhere', { key: value }),
      ];
      for (const ask of routes) {
        const unknown = [await seen(await ask(generateKey('twb'))), cost()];
        loggedLines('request');
        expect([await seen(await ask(key.value)), cost()]).toEqual(unknown);
        expect(unknown).toEqual([
          expect.objectContaining({ status: 401 }),
          { d1: [{ statements: 1, rowsWritten: 0 }], limiters: ['ip'] },
        ]);
        expect(loggedLines('request')).toMatchObject([{ reason: 'blocked', key: key.id, organization }]);
      }
      await api.settled();
      expect(d1).toEqual([]);
      expect(await rowsOf('audit_log', organization)).toEqual(before);
      expect(await rowsOf('refused_uses', organization)).toEqual([]);
      expect(await rowsOf('notes', organization)).toEqual([]);
    },
  );

  test.each(Object.entries(blockedBy))(
    'by its %s that is revoked as well leaves no refused use either',
    async (_, by) => {
      const { organization, key } = await world();
      await revoke(organization, key.id);
      const api = makeApi({ config: { blockedKeys: new Set([by(key)]) } });
      expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(401);
      await api.settled();
      expect(await rowsOf('refused_uses', organization)).toEqual([]);
    },
  );

  test.each(Object.entries(blockedBy))('by its %s is refused by an isolate that remembers it', async (_, by) => {
    const { organization, key } = await world();
    const blockedKeys = new Set<string>();
    const api = makeApi({ config: { blockedKeys } });
    expect((await api.postNote(key.value)).status).toBe(201);
    blockedKeys.add(by(key));
    expect((await api.postNote(key.value)).status).toBe(401);
    expect(await rowsOf('notes', organization)).toHaveLength(1);
  });

  test('by a hint blocks every key that has it, and no other', async () => {
    const { organization, key } = await world();
    const twin = withHintOf(key.value);
    await env.DB.prepare('update api_keys set hash = ? where organization_id = ? and id = ?')
      .bind(await hashKey(twin), organization, (await makeKey(organization)).id)
      .run();
    const other = await makeKey(organization);
    const ping = async (blocked: string[], value: string) =>
      (await makeApi({ config: { blockedKeys: new Set(blocked) } }).send('/api/v1/ping', { key: value })).status;
    expect([keyHint(twin), twin === key.value]).toEqual([key.hint, false]);
    expect([await ping([], twin), await ping([key.id], twin), await ping([key.id], key.value)]).toEqual([
      200, 200, 401,
    ]);
    for (const value of [key.value, twin]) expect(await ping([key.hint], value)).toBe(401);
    expect(await ping([key.hint, key.id], other.value)).toBe(200);
  });

  test('by its hint is refused also while D1 is down', async () => {
    const { key } = await world();
    const DB = aroundD1(env.DB, () => Promise.reject(new Error('D1_ERROR: Network connection lost.')));
    const api = makeApi({ config: { blockedKeys: new Set([key.hint]) }, bindings: { DB } });
    expect(await seen(await api.postNote(key.value))).toEqual(await seen(await makeApi().send('/api/v1/ping')));
  });
});

/** Another good key value with the same hint: the same random bytes at both ends. */
function withHintOf(value: string): string {
  const [first = [], last = []] = [value.slice(4, 8), value.slice(40, 44)].map((end) =>
    Array.from(end, (one) => BASE62.indexOf(one)),
  );
  const random = vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
    if (array instanceof Uint8Array) array.set([...first, ...Array(32).fill(0), ...last]);
    return array;
  });
  const twin = generateKey('twb');
  random.mockRestore();
  return twin;
}

describe('a paused service', () => {
  test('answers every request to the API with 503 and when to come back, and touches nothing', async () => {
    const organization = await makeOrganization();
    const { value: key } = await makeKey(organization);
    const { api, d1, limiters } = counting({ config: { mode: 'paused' } });
    const answers = [
      await api.send('/api/v1/ping', { key }),
      await api.send('/api/v1/ping'),
      await api.postNote(key),
      await api.postTime(key),
      await api.send('/api/v1/nowhere'),
      await api.send('/api/'),
      await api.send('/api/v1/openapi.json', { method: 'POST', key }),
    ];
    for (const response of answers) {
      expect(response.status).toBe(503);
      expect(response.headers.get('Retry-After')).toBe('60');
      expect(await response.json()).toMatchObject({
        code: 'unavailable',
        detail: expect.stringMatching(/paused by its operator. Nothing was written/),
      });
    }
    expect([d1, limiters]).toEqual([[], []]);
    expect(await rowsOf('notes', organization)).toEqual([]);
    // It is meant: no alarm.
    expect(loggedLines('request', 'log').filter(({ problem }) => problem === 'unavailable')).toHaveLength(
      answers.length,
    );
  });

  test('goes on telling its contract, its documentation, and revokes keys', async () => {
    const { config: signIn, token } = await makeSignIn();
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    const email = `ada@${organization}.example`;
    await importRecords({ type: 'user', organization, id: 'ada', email, name: 'Ada', admin: true });
    const api = makeApi({ config: { mode: 'paused', signIn } });
    for (const path of ['/api/v1/openapi.json', '/docs', '/']) expect((await api.send(path)).status).toBe(200);
    const response = await api.send(`/settings/${organization}/keys/${key.id}/revoke`, {
      method: 'POST',
      body: '',
      headers: {
        'Cf-Access-Jwt-Assertion': await token(email),
        Origin: 'https://api.example',
        'Content-Type': 'application/x-www-form-urlencoded',
      },
    });
    expect(response.headers.get('Location')).toContain('done=revoked');
    expect((await makeApi().send('/api/v1/ping', { key: key.value })).status).toBe(401);
  });
});

describe('a limit for a network', () => {
  test('acts on each address group within it, the most specific first, and the 429 tells it', async () => {
    const ipLimitOverrides = parseIpLimitOverrides(
      '203.0.113.0/24=3/10s, 203.0.113.128/25=2/10s, 2001:db8:77::/48=1/5s',
    );
    const api = makeApi({ config: { ipLimit: { quota: 4, windowMs: 10_000 }, ipLimitOverrides } });
    /** How many requests an address may send, and what the refusal says. */
    const admitted = async (address: string) => {
      for (let count = 0; ; count++) {
        const response = await api.send('/api/v1/ping', { headers: { 'CF-Connecting-IP': address } });
        if (response.status === 429) return [count, response.headers.get('RateLimit-Policy')];
      }
    };
    expect(await admitted('203.0.113.1')).toEqual([3, '"ip";q=3;w=10']);
    expect(await admitted('203.0.113.2')).toEqual([3, '"ip";q=3;w=10']);
    expect(await admitted('::ffff:203.0.113.3')).toEqual([3, '"ip";q=3;w=10']);
    expect(await admitted('203.0.113.129')).toEqual([2, '"ip";q=2;w=10']);
    expect(await admitted('203.0.112.1')).toEqual([4, '"ip";q=4;w=10']);
    expect(await admitted('2001:db8:77:1::1')).toEqual([1, '"ip";q=1;w=5']);
    expect(await admitted('2001:db8:77:1::2')).toEqual([0, '"ip";q=1;w=5']);
    expect(await admitted('2001:db8:77:2::1')).toEqual([1, '"ip";q=1;w=5']);
    expect(await admitted('2001:db8:78::1')).toEqual([4, '"ip";q=4;w=10']);
  });
});
