import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ExpiringMap } from '../../src/lib/expiring-map.ts';
import { countLimiters } from '../support/limiter.ts';
import { makeApi } from '../support/world.ts';

// The clock does not advance except where a test moves it, so no call meets its deadline; the limiter objects see the
// same one.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
/** A /48 that no other test uses, without its `::/48`. */
const newNetwork = () => `2001:db8:${(++networks).toString(16)}`;
let networks = 0x7000;

const ipLimit = { quota: 3, windowMs: 10_000 };

/** An isolate whose calls to limiters are counted by the names of the objects. */
function makeIsolate() {
  const limiters = countLimiters(env.RATE_LIMITER);
  const api = makeApi({ config: { ipLimit }, bindings: { RATE_LIMITER: limiters.namespace } });
  const ping = async (address: string): Promise<Response> => {
    const response = await api.send('/api/v1/ping', { headers: { 'CF-Connecting-IP': address } });
    if (response.status !== 401 && response.status !== 429) throw new Error(`status ${response.status}`);
    return response;
  };
  /** How many of so many requests from an address pass its limits. */
  const passed = async (address: string, requests: number): Promise<number> => {
    const answers = await Promise.all(Array.from({ length: requests }, () => ping(address)));
    return answers.filter(({ status }) => status === 401).length;
  };
  return { ping, passed, names: limiters.names };
}

describe('an IPv6 /48', () => {
  test('a /48 is one object, and each request calls it once', async () => {
    const { ping, names } = makeIsolate();
    const network = newNetwork();
    for (const subnet of ['', ':1', ':ffff']) await ping(`${network}${subnet}::1`);
    expect(names).toEqual(Array(3).fill(`ip:${network}::/48`));
  });

  test.each([
    ['its own limit', { subnets: 4, refused: ':9::1' }, 'The network of this IP address', 12],
    ['the limit of a /64', { subnets: 1, refused: ':0::2' }, 'This IP address', 3],
  ])('a request over %s gets 429 with that limit and the time to wait', async (_, { subnets, refused }, who, quota) => {
    const { ping, passed } = makeIsolate();
    const network = newNetwork();
    for (let subnet = 0; subnet < subnets; subnet++) {
      expect(await passed(`${network}:${subnet}::1`, 3)).toBe(3);
      pass(1_000);
    }
    // From the object, then from the isolate's memory.
    for (const left of [10_000 - subnets * 1_000, 10_000 - subnets * 1_000 - 2_000]) {
      const response = await ping(`${network}${refused}`);
      expect(response.status).toBe(429);
      expect(response.headers.get('Retry-After')).toBe(String(left / 1_000));
      expect(response.headers.get('RateLimit-Policy')).toBe(`"ip";q=${quota};w=10`);
      expect(response.headers.get('RateLimit')).toMatch(/^"ip";r=0;t=\d+$/);
      expect(await response.json()).toMatchObject({
        code: 'rate_limited',
        'violated-policies': ['ip'],
        detail: `${who} may send ${quota} requests in any 10 seconds; send the request again after ${left / 1_000} s.`,
      });
      pass(2_000);
    }
  });
});

describe('a refusal that an isolate remembers', () => {
  test('the refusal of a /64 does not refuse another /64 of the same /48', async () => {
    const { ping, passed, names } = makeIsolate();
    const network = newNetwork();
    expect(await passed(`${network}:1::1`, 4)).toBe(3);
    names.length = 0;
    expect((await ping(`${network}:1::2`)).status).toBe(429);
    expect(names).toEqual([]);
    expect((await ping(`${network}:2::1`)).status).toBe(401);
    expect(names).toHaveLength(1);
  });

  test('the refusal of a /48 refuses all its /64s, and no other network', async () => {
    const { ping, passed, names } = makeIsolate();
    const network = newNetwork();
    for (const subnet of [1, 2, 3, 4]) expect(await passed(`${network}:${subnet}::1`, 3)).toBe(3);
    expect((await ping(`${network}:5::1`)).status).toBe(429);
    names.length = 0;
    for (let subnet = 0; subnet < 50; subnet++) {
      expect((await ping(`${network}:${subnet.toString(16)}::1`)).status).toBe(429);
    }
    expect(names).toEqual([]);
    expect((await ping(`${newNetwork()}:1::1`)).status).toBe(401);
  });

  test('the refusals of one /48 take at most five places, however many of its /64s flood', async () => {
    const set = vi.spyOn(ExpiringMap.prototype, 'set');
    const { passed } = makeIsolate();
    const network = newNetwork();
    for (let subnet = 0; subnet < 100; subnet++) await passed(`${network}:${subnet.toString(16)}::1`, 5);
    expect(new Set(set.mock.calls.map(([memo]) => memo)).size).toBeLessThanOrEqual(5);
    set.mockRestore();
  });

  test('a refusal by both limits contains the longer wait', async () => {
    const { ping, passed } = makeIsolate();
    const network = newNetwork();
    for (const subnet of [1, 2, 3]) expect(await passed(`${network}:${subnet}::1`, 3)).toBe(3);
    pass(4_000);
    expect(await passed(`${network}:4::1`, 4)).toBe(3);
    expect((await ping(`${network}:5::1`)).headers.get('Retry-After')).toBe('6');
    expect((await ping(`${network}:4::1`)).headers.get('Retry-After')).toBe('10');
    pass(6_000);
    expect((await ping(`${network}:5::1`)).status).toBe(401);
    expect((await ping(`${network}:4::1`)).headers.get('Retry-After')).toBe('4');
  });
});

test('an IPv4-mapped IPv6 address counts as its IPv4 address, not with the other mapped ones', async () => {
  const { passed, names } = makeIsolate();
  expect(await passed('::ffff:198.51.100.77', 2)).toBe(2);
  expect(await passed('198.51.100.77', 2)).toBe(1);
  expect(await passed('::ffff:198.51.100.78', 4)).toBe(3);
  expect([...new Set(names)]).toEqual(['ip:198.51.100.77', 'ip:198.51.100.78']);
});
