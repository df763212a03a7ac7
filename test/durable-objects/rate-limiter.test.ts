import { evictDurableObject, listDurableObjectIds } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { aroundLimiters } from '../support/limiter.ts';
import { makeApi, makeWorld, newAddress } from '../support/world.ts';

const requestLimit = { quota: 20, windowMs: 10_000 };
const limiter = () => env.RATE_LIMITER.getByName(crypto.randomUUID());

afterEach(() => {
  vi.useRealTimers();
});

describe('a limiter object', () => {
  test('can be evicted, because its window has passed by then', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const stub = limiter();
    for (let i = 0; i < 20; i++) await stub.take(requestLimit);
    expect((await stub.take(requestLimit)).admitted).toBe(false);
    // The platform evicts after 10 idle seconds, which is the longest possible window.
    vi.setSystemTime(Date.now() + 10_000);
    await evictDurableObject(stub);
    expect(await stub.take(requestLimit)).toMatchObject({ admitted: true, remaining: 19, resetMs: 10_000 });
  });

  test('applies the request limit of each call', async () => {
    const stub = limiter();
    for (let i = 0; i < 5; i++) await stub.take(requestLimit);
    expect((await stub.take({ quota: 5, windowMs: 10_000 })).admitted).toBe(false);
    expect((await stub.take(requestLimit)).remaining).toBe(14);
  });
});

test('each key and each group of addresses has a separate object', async () => {
  const { key } = await makeWorld();
  const api = makeApi({ bindings: { RATE_LIMITER: env.RATE_LIMITER } });
  const from = { 'CF-Connecting-IP': newAddress() };
  const before = (await listDurableObjectIds(env.RATE_LIMITER)).length;
  for (let i = 0; i < 3; i++) await api.send('/api/v1/ping', { key, headers: from });
  expect((await listDurableObjectIds(env.RATE_LIMITER)).length).toBe(before + 2);
});

/** How often a limiter was logged as unreachable: a slow database can be logged too. */
const timesUnreachable = ({ mock }: { mock: { calls: unknown[][] } }) =>
  mock.calls.filter(([line]) => JSON.parse(String(line)).event === 'limiter_unreachable').length;

describe('a limiter', () => {
  async function ping(take: () => Promise<never>) {
    const { key } = await makeWorld();
    const api = makeApi({ bindings: { RATE_LIMITER: aroundLimiters(env.RATE_LIMITER, take) } });
    return api.send('/api/v1/ping', { key });
  }

  test('a limiter that fails twice admits the request, and the response has no RateLimit header', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    let tries = 0;
    const response = await ping(() => {
      tries += 1;
      return Promise.reject(
        new Error('Internal error while starting up Durable Object storage caused object to be reset.'),
      );
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('RateLimit')).toBeNull();
    expect(tries).toBe(4);
    expect(timesUnreachable(warned)).toBe(2);
    warned.mockRestore();
  });

  test('an overloaded limiter refuses requests with 429, and is called again a second later', async () => {
    const { key } = await makeWorld();
    let calls = 0;
    const overloaded = aroundLimiters(env.RATE_LIMITER, () => {
      calls += 1;
      return Promise.reject(Object.assign(new Error('Durable Object is overloaded.'), { overloaded: true }));
    });
    const api = makeApi({ bindings: { RATE_LIMITER: overloaded } });
    vi.useFakeTimers({ toFake: ['Date'] });
    for (const expected of [1, 1, 2]) {
      const response = await api.send('/api/v1/ping', { key });
      expect(response.status).toBe(429);
      expect(response.headers.get('Retry-After')).toBe('1');
      expect(calls).toBe(expected);
      vi.setSystemTime(Date.now() + 500);
    }
  });

  test('a limiter that hangs admits the request after one second', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    expect((await ping(() => new Promise(() => undefined))).status).toBe(200);
    expect(timesUnreachable(warned)).toBe(2);
    warned.mockRestore();
  });
});
