import { env } from 'cloudflare:workers';
import type { JWTVerifyGetKey } from 'jose';
import { expect, test } from 'vitest';
import { countD1 } from '../../support/d1.ts';
import { countLimiters } from '../../support/limiter.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { makeSignIn } from '../../support/sign-in.ts';
import { importRecords, makeApi, makeOrganization, newAddress } from '../../support/world.ts';

const ipLimit = { quota: 3, windowMs: 10_000 };

/**
 * A settings area opened from an address of its own; calls to limiters, D1 and for keys are
 * counted.
 */
async function makeArea() {
  const organization = await makeOrganization();
  const email = `ada@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'ada', email, name: 'Ada', admin: true });
  const { config: signIn, token } = await makeSignIn();
  const calls = { keys: 0 };
  const keys: JWTVerifyGetKey = (...args) => {
    calls.keys += 1;
    return signIn.keys(...args);
  };
  const d1 = countD1(env.DB);
  const limiters = countLimiters(env.RATE_LIMITER);
  const api = makeApi({
    config: { ipLimit, signIn: { ...signIn, keys } },
    bindings: { DB: d1.db, RATE_LIMITER: limiters.namespace },
  });
  const address = newAddress();
  const from = { 'CF-Connecting-IP': address };
  const headers = { ...from, 'Cf-Access-Jwt-Assertion': await token(email) };
  const open = (path: string, init: RequestInit = {}) => api.send(path, { ...init, headers });
  const forged = { ...from, 'Cf-Access-Jwt-Assertion': await token(email, { forged: true }) };
  return { organization, address, api, open, from, headers, forged, d1: d1.calls, limiters: limiters.names, calls };
}

const PATHS = ['', '/', '/ORG', '/ORG/', '/ORG/keys', '/ORG/audit', '/nowhere/keys', '/ORG/keys/x/revoke', '/a/b/c/d'];

test.each(PATHS)('/settings%s is refused with a page after the address has used up its limit', async (path) => {
  const { organization, address, open, d1, limiters, calls } = await makeArea();
  for (let i = 0; i < 3; i++) expect((await open(`/settings/${organization}/keys`)).status).toBe(200);
  expect(limiters).toEqual(Array(3).fill(`ip:settings:${address}`));
  d1.length = 0;
  limiters.length = 0;
  calls.keys = 0;
  loggedLines('request');
  for (const method of ['GET', 'POST', 'HEAD', 'DELETE']) {
    const response = await open(`/settings${path.replace('ORG', organization)}`, { method });
    expect([method, response.status]).toEqual([method, 429]);
    expect(response.headers.get('Content-Type')).toMatch(/^text\/html/);
    expect(response.headers.get('Retry-After')).toMatch(/^([1-9]|10)$/);
    expect(response.headers.get('RateLimit-Policy')).toBe('"ip";q=3;w=10');
    expect(response.headers.get('RateLimit')).toMatch(/^"ip";r=0;t=\d+$/);
    expect(response.headers.get('X-Request-Id')).not.toBeNull();
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    expect(response.headers.get('Content-Security-Policy')).toContain("default-src 'none'");
    const text = await response.text();
    if (method !== 'HEAD') {
      expect(text).toContain('<h1>Too many requests</h1>');
      const sentence = /This IP address may send 3 requests in any 10 seconds; open the page again after \d+ s\./;
      expect(text).toMatch(sentence);
    }
    expect(text).not.toContain('Northwind');
    expect(loggedLines('request')).toEqual([
      expect.objectContaining({
        method,
        status: 429,
        problem: 'rate_limited',
        route: expect.stringMatching(/^\/settings/),
        address,
        d1Calls: 0,
      }),
    ]);
  }
  // The first refusal asked the limiter. None looked at the token or the database.
  expect(limiters).toHaveLength(1);
  expect([calls.keys, d1]).toEqual([0, []]);
});

test("requests with a forged token or without one also count, and refused requests do not fetch the issuer's keys", async () => {
  const { open, api, from, forged, calls } = await makeArea();
  const statuses: number[] = [];
  for (const headers of [forged, from, forged, forged, forged, from]) {
    statuses.push((await api.send('/settings', { headers })).status);
  }
  expect(statuses).toEqual([401, 401, 401, 429, 429, 429]);
  expect(calls.keys).toBe(2);
  expect((await open('/settings')).status).toBe(429);
});

test('the areas of one address are counted separately: a flood of one blocks no other', async () => {
  const { organization, open, api, from } = await makeArea();
  const send = {
    api: () => api.send('/api/v1/ping', { headers: from }),
    site: () => api.send('/nothing', { headers: from }),
    settings: () => open(`/settings/${organization}/keys`),
  };
  const statuses = { api: 401, site: 404, settings: 200 };
  for (const area of ['api', 'site', 'settings'] as const) {
    const got: number[] = [];
    for (let i = 0; i < 4; i++) got.push((await send[area]()).status);
    expect([area, ...got]).toEqual([area, ...Array(3).fill(statuses[area]), 429]);
  }
});

test.each(['/', '/docs', '/docs/reference', '/nothing', '/psa', '/mcp', '/healthz/x'])(
  '%s is limited by address, and /healthz is not',
  async (path) => {
    const { api, from } = await makeArea();
    for (let i = 0; i < 3; i++) expect((await api.send(path, { headers: from })).status).not.toBe(429);
    expect((await api.send(path, { headers: from })).status).toBe(429);
    for (let i = 0; i < 5; i++) expect((await api.send('/healthz', { headers: from })).status).toBe(200);
  },
);

test('admitted pages have no RateLimit headers', async () => {
  const { organization, open } = await makeArea();
  const response = await open(`/settings/${organization}/keys`);
  expect(response.status).toBe(200);
  for (const name of ['RateLimit', 'RateLimit-Policy', 'Retry-After']) expect(response.headers.get(name)).toBeNull();
});
