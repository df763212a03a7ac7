import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { withoutWrites } from '../support/d1.ts';
import { countLimiters } from '../support/limiter.ts';
import { loggedLines } from '../support/searched-logs.ts';
import { makeApi, makeKey, makeOrganization, TIME } from '../support/world.ts';

describe('a request that a limiter refused', () => {
  test('a refusal does not affect another address, or an isolate whose limit is wider', async () => {
    const limiters = countLimiters(env.RATE_LIMITER);
    const bindings = { RATE_LIMITER: limiters.namespace };
    const api = makeApi({ config: { ipLimit: { quota: 1, windowMs: 10_000 } }, bindings });
    const from = (last: number) => ({ headers: { 'CF-Connecting-IP': `198.18.8.${last}` } });
    await api.send('/api/v1/ping', from(1));
    expect((await api.send('/api/v1/ping', from(1))).status).toBe(429);
    expect((await api.send('/api/v1/ping', from(2))).status).toBe(401);
    const wider = makeApi({ config: { ipLimit: { quota: 2, windowMs: 10_000 } }, bindings });
    expect((await wider.send('/api/v1/ping', from(1))).status).toBe(401);
  });
});

// draft-ietf-httpapi-ratelimit-headers-11, §6 and §3 to §4.
describe('the RateLimit headers and Retry-After', () => {
  /** The seconds until a retry, and until the end of each window in the same response. */
  const waits = ({ headers }: Response) => ({
    retry: Number(headers.get('Retry-After')),
    windows: [...(headers.get('RateLimit') ?? '').matchAll(/;t=(\d+)/g)].map(([, t]) => Number(t)),
  });

  test('the headers agree: a 429 asks to wait at least until the violated window ends', async () => {
    const { value: key } = await makeKey(await makeOrganization());
    const bindings = { RATE_LIMITER: env.RATE_LIMITER };
    const api = makeApi({ config: { keyLimit: { quota: 2, windowMs: 7_000 } }, bindings });
    for (let i = 0; i < 2; i++) await api.send('/api/v1/ping', { key });
    const refused = await api.send('/api/v1/ping', { key });
    const { retry, windows } = waits(refused);
    expect([refused.status, windows.length]).toEqual([429, 1]);
    expect(retry).toBeGreaterThanOrEqual(Math.max(...windows));

    const daily = makeApi({ config: { dayLimits: { key: { records: 1, bytes: 1_000 }, organization: null } } });
    const { value: other } = await makeKey(await makeOrganization());
    await daily.postTime(other, TIME);
    const full = await daily.postTime(other, TIME);
    expect(full.status).toBe(429);
    expect(waits(full).windows).toHaveLength(2);
    expect(waits(full).retry).toBeGreaterThanOrEqual(Math.max(...waits(full).windows));
  });

  test('the headers never contradict each other: a 503 contains only Retry-After', async () => {
    const { value: key } = await makeKey(await makeOrganization());
    const api = makeApi({ bindings: { DB: withoutWrites(env.DB, 'D1 DB is overloaded.') } });
    const failed = await api.postNote(key);
    const { retry, windows } = waits(failed);
    expect([failed.status, windows]).toEqual([503, []]);
    expect([4, 5, 6, 7, 8]).toContain(retry);
    expect(failed.headers.get('RateLimit-Policy')).toBeNull();
  });

  test('the headers are lists of strings with non-negative integers, one policy for each state', async () => {
    const { value: key } = await makeKey(await makeOrganization());
    const { headers } = await makeApi().postNote(key);
    const policies = [...(headers.get('RateLimit-Policy') ?? '').matchAll(/"([a-z-]+)";q=\d+;w=[1-9]\d*(?:, |$)/g)];
    const states = [...(headers.get('RateLimit') ?? '').matchAll(/"([a-z-]+)";r=\d+;t=\d+(?:, |$)/g)];
    expect(policies.map(([, name]) => name)).toEqual(['key', 'key-day']);
    expect(states.map(([, name]) => name)).toEqual(['key', 'key-day']);
    for (const [name, found] of [
      ['RateLimit-Policy', policies],
      ['RateLimit', states],
    ] as const)
      expect(found.map(([text]) => text).join('')).toBe(headers.get(name));
  });
});

test('the limiters are objects of the jurisdiction of the deployment, which the local runtime does not have', async () => {
  const api = makeApi({ config: { jurisdiction: 'eu' } });
  loggedLines('limiter_unreachable');
  expect((await api.send('/api/v1/ping')).status).toBe(401);
  expect(loggedLines('limiter_unreachable')).toMatchObject([{ cause: [expect.stringContaining('placedIn')] }]);
});
