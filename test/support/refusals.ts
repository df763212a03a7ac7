import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { generateKey } from '../../src/domain/api-key.ts';
import type { Scope } from '../../src/domain/record-kinds.ts';
import { countD1 } from './d1.ts';
import { countLimiters } from './limiter.ts';
import {
  changeOrganization,
  makeApi,
  makeKey,
  makeOrganization,
  newAddress,
  revoke,
  rotate,
  rowsOf,
  seenByProber,
} from './world.ts';

type Api = ReturnType<typeof makeApi>;

/** A request to which every key may be sent. */
export type Route = {
  /** Whether an exceeded limit is the result of a tool. */
  isTool?: boolean;
  scope: Scope | undefined;
  method: string;
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
};

/** Calls a route with these headers, and no other Authorization. */
export function send(
  api: Api,
  { method, path, body, ...route }: Route,
  headers: Record<string, string>,
): Promise<Response> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  return api.send(path, {
    method,
    ...init,
    headers: { 'Content-Type': 'application/json', ...route.headers, ...headers },
  });
}

export const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const hour = 3_600_000;

const CONSTANT_401 = {
  status: 401,
  headers: [
    ['cache-control', 'no-store'],
    ['content-type', 'application/problem+json'],
    ['strict-transport-security', 'max-age=31536000'],
    ['www-authenticate', 'Bearer'],
    ['x-content-type-options', 'nosniff'],
    ['x-request-id', 'an id'],
  ],
  body: '{"type":"about:blank","title":"Unauthorized","status":401}',
};

/** Each key may send one request. */
const ONE_REQUEST = { keyLimit: { quota: 1, windowMs: 10_000 } };

/**
 * Everything that can be wrong with a key: headers without a well-formed key, and keys that may not
 * be used.
 */
async function makeCauses(scope: Scope | undefined) {
  const organization = await makeOrganization();
  const good = await makeKey(organization);
  const before = () => Date.now() - 2 * hour;
  const expired = await makeKey(organization, { expires: new Date(Date.now() - hour).toISOString() }, before);
  const unscoped = await makeKey(organization, {
    scopes: [scope === 'tickets:note:write' ? 'tickets:time:write' : 'tickets:note:write'],
  });
  const revoked = await makeKey(organization);
  await revoke(organization, revoked.id);
  const replaced = await makeKey(organization, {}, before);
  await rotate(organization, replaced.id, { grace: '1h' }, before);
  const replacedAtOnce = await makeKey(organization);
  await rotate(organization, replacedAtOnce.id, { grace: 'now' });
  const byHint = await makeKey(organization);
  const byId = await makeKey(organization);
  const closed = await makeOrganization();
  const ofClosed = await makeKey(closed);
  await changeOrganization(closed, { active: false });

  const { value } = good;
  const unreadable: Record<string, Record<string, string>> = {
    'no header': {},
    'an empty header': { Authorization: '' },
    'no scheme': { Authorization: value },
    'a scheme alone': { Authorization: 'Bearer' },
    'another scheme': { Authorization: `Basic ${btoa(`x:${value}`)}` },
    'a tab after the scheme': { Authorization: `Bearer\t${value}` },
    'two values': bearer(`${value} ${value}`),
    'two headers': bearer(`${value}, Bearer ${value}`),
    'in quotes': bearer(`"${value}"`),
    'cut short': bearer(value.slice(0, -1)),
    'one character more': bearer(`${value}x`),
    'one character changed': bearer(value.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'))),
    'upper case': bearer(value.toUpperCase()),
    'far too long': bearer('x'.repeat(10_000)),
    'of another deployment': bearer(generateKey('stg')),
    'its hint': bearer(good.hint.replace('…', '...')),
  };
  const dead: Record<string, string> = {
    unknown: generateKey('twb'),
    revoked: revoked.value,
    expired: expired.value,
    'replaced, and its grace over': replaced.value,
    'replaced at once': replacedAtOnce.value,
    'of an organization that is not active': ofClosed.value,
    ...(scope && { 'of another scope': unscoped.value }),
    'blocked by its hint': byHint.value,
    'blocked by its id': byId.value,
  };
  const blockedKeys = new Set([byHint.hint, byId.id]);
  return { good: { organization, value }, unreadable, dead, blockedKeys };
}

/** Describes the refusals of these routes. They are the same for all of them. */
export function describeRefusals(routes: Readonly<Record<string, Route>>, options: { agents?: boolean } = {}): void {
  const newApi = (more: Parameters<typeof makeApi>[0] = {}) => makeApi({ ...options, ...more });
  describe.each<[string, Route]>(Object.entries(routes))('%s', (name, route) => {
    const { scope } = route;
    const call = (api: Api, headers: Record<string, string>) => send(api, route, headers);

    test('every bad key gets the same constant 401, which does not count against the key’s limit', async () => {
      const { good, unreadable, dead, blockedKeys } = await makeCauses(scope);
      const limiters = countLimiters(env.RATE_LIMITER);
      const api = newApi({ bindings: { RATE_LIMITER: limiters.namespace }, config: { ...ONE_REQUEST, blockedKeys } });
      const causes = {
        ...unreadable,
        ...Object.fromEntries(Object.entries(dead).map(([cause, key]) => [cause, bearer(key)])),
      };
      // Each of them twice, because the second response may come from a cache.
      for (const [cause, headers] of [...Object.entries(causes), ...Object.entries(causes)]) {
        expect([cause, await seenByProber(await call(api, headers))]).toEqual([cause, CONSTANT_401]);
      }
      console.log(`401 of ${name}: ${Object.keys(causes).length} causes compared`);
      expect(limiters.names.filter((name) => !name.startsWith('ip:'))).toEqual([]);
      expect((await call(api, bearer(good.value))).status).not.toBe(401);
      for (const table of ['notes', 'time_entries'] as const) {
        const isWritten = table === (scope === 'tickets:note:write' ? 'notes' : 'time_entries');
        const made = scope && isWritten && !route.path.endsWith('/dry-run') ? 1 : 0;
        expect(await rowsOf(table, good.organization)).toHaveLength(made);
      }
    });

    test('every well-formed key that is not cached costs the same calls, others cost none, and nothing is written before the response', async () => {
      const { unreadable, dead, blockedKeys } = await makeCauses(scope);
      const d1 = countD1(env.DB);
      const limiters = countLimiters(env.RATE_LIMITER);
      const spent = async (headers: Record<string, string>) => {
        const api = newApi({ bindings: { DB: d1.db, RATE_LIMITER: limiters.namespace }, config: { blockedKeys } });
        d1.calls.length = 0;
        limiters.names.length = 0;
        expect((await call(api, headers)).status).toBe(401);
        const calls = d1.calls.map(({ statements, rowsWritten }) => ({ statements, rowsWritten }));
        const objects = limiters.names.map((name) => name.split(':')[0]);
        await api.settled();
        return { objects, calls, later: d1.calls.slice(calls.length).map(({ statements }) => statements) };
      };
      for (const [cause, headers] of Object.entries(unreadable)) {
        expect([cause, await spent(headers)]).toEqual([cause, { objects: ['ip'], calls: [], later: [] }]);
      }
      for (const [cause, key] of Object.entries(dead)) {
        // The refusal of a key that exists and is not blocked is recorded after the response, in one call.
        const later = /^(unknown|blocked)/.test(cause) ? [] : [3];
        expect([cause, await spent(bearer(key))]).toEqual([
          cause,
          { objects: ['ip'], calls: [{ statements: 1, rowsWritten: 0 }], later },
        ]);
      }
    });

    test.each(['revoked', 'expired', ...(scope ? ['of another scope'] : [])])(
      'a key %s whose limit is used up gets 401, not 429',
      async (how) => {
        const organization = await makeOrganization();
        const other: Scope = scope === 'tickets:note:write' ? 'tickets:time:write' : 'tickets:note:write';
        const key = await makeKey(organization, {
          expires: new Date(Date.now() + hour).toISOString(),
          ...(how === 'of another scope' ? { scopes: [other] } : {}),
        });
        let now = Date.now();
        const api = newApi({ now: () => now, config: ONE_REQUEST });
        expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(200);
        expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(429);
        if (how === 'revoked') await revoke(organization, key.id);
        if (how === 'expired') now += hour;
        expect(await seenByProber(await call(api, bearer(key.value)))).toEqual(CONSTANT_401);
      },
    );

    test('a key that was good a moment ago and has room in its limit gets the same constant 401', async () => {
      const organization = await makeOrganization();
      const key = await makeKey(organization);
      const api = newApi();
      expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(200);
      await revoke(organization, key.id);
      for (const time of [1, 2])
        expect([time, await seenByProber(await call(api, bearer(key.value)))]).toEqual([time, CONSTANT_401]);
    });

    test("a request over the key's limit gets the limit and the time to wait, with 429 unless it is a call of a tool", async () => {
      const organization = await makeOrganization({ psa: false });
      const key = await makeKey(organization);
      const api = newApi({ config: { keyLimit: { quota: 2, windowMs: 7_000 } } });
      await call(api, bearer(key.value));
      await call(api, bearer(key.value));
      const response = await call(api, bearer(key.value));
      expect(response.headers.get('RateLimit-Policy')).toBe('"key";q=2;w=7');
      expect(response.headers.get('RateLimit')).toMatch(/^"key";r=0;t=[1-7]$/);
      if (route.isTool) {
        // Agents read results, not statuses.
        const facts = { code: 'rate_limited', 'violated-policies': ['key'], retryAfterSeconds: expect.any(Number) };
        expect([response.status, await response.json()]).toMatchObject([
          200,
          { result: { isError: true, structuredContent: facts } },
        ]);
        return;
      }
      expect(response.status).toBe(429);
      expect(response.headers.get('Content-Type')).toBe('application/problem+json');
      expect(response.headers.get('Retry-After')).toMatch(/^[1-7]$/);
      expect(await response.json()).toEqual({
        type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
        title: 'Too many requests',
        status: 429,
        code: 'rate_limited',
        detail: expect.stringMatching(
          /^This key may send 2 requests in any 7 seconds; send the request again after \d s\.$/,
        ),
        requestId: response.headers.get('X-Request-Id'),
        'violated-policies': ['key'],
      });
    });

    test('a request above the address limit gets 429 without a lookup of the key', async () => {
      const d1 = countD1(env.DB);
      const api = newApi({ config: { ipLimit: { quota: 2, windowMs: 10_000 } }, bindings: { DB: d1.db } });
      const from = { 'CF-Connecting-IP': newAddress(), ...bearer(generateKey('twb')) };
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
  });
}
