import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Config } from '../../src/config.ts';
import { generateKey } from '../../src/domain/api-key.ts';
import type { RequestLimit } from '../../src/domain/request-limit.ts';
import { countD1 } from '../support/d1.ts';
import { rowCounts } from '../support/hostile.ts';
import { countLimiters } from '../support/limiter.ts';
import { inLongRuns, runs } from '../support/property.ts';
import { makeApi, makeKey, makeOrganization, revoke } from '../support/world.ts';

type Api = ReturnType<typeof makeApi>;

const ISOLATES = 3;

// Only the tests advance the clock, so no call meets its deadline. The limiter objects see the same one.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
const isolates = (settings: Partial<Config>, bindings: Partial<Env> = { RATE_LIMITER: env.RATE_LIMITER }) =>
  Array.from({ length: ISOLATES }, () => makeApi({ config: settings, bindings }));
const randomHex = () => Math.floor(Math.random() * 0x10000).toString(16);
/** A random address of an IPv6 /64. */
const within = (network: string) => `${network}:${[1, 2, 3, 4].map(randomHex).join(':')}`;

/** The times at which requests were admitted, by the subject of the limit. */
class Admissions {
  private readonly times = new Map<string, number[]>();

  /** How many requests the limit admits now. */
  room(subject: string, { quota, windowMs }: RequestLimit): number {
    return quota - (this.times.get(subject) ?? []).filter((time) => time > Date.now() - windowMs).length;
  }

  add(subject: string, count: number): void {
    this.times.set(subject, [...(this.times.get(subject) ?? []), ...Array<number>(count).fill(Date.now())]);
  }
}

/** Sends requests at once, distributed over the isolates. Returns how many passed the limits. */
async function burst(
  apis: readonly Api[],
  count: number,
  request: (index: number) => { address: string; key?: string },
): Promise<number> {
  const answers = await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const { key, address } = request(index);
      const headers = { 'CF-Connecting-IP': address };
      return apis[index % apis.length]?.send('/api/v1/ping', { ...(key !== undefined && { key }), headers });
    }),
  );
  for (const answer of answers) expect([200, 401, 429]).toContain(answer?.status);
  return answers.filter((answer) => answer?.status !== 429).length;
}

describe('a flood', () => {
  test('a flood from addresses and networks and with keys, at any times and over several isolates, is admitted exactly up to each limit', async () => {
    const ipLimit = { quota: 12, windowMs: 3_000 };
    const siteLimit = { quota: 48, windowMs: 3_000 };
    const keyLimit = { quota: 15, windowMs: 5_000 };
    const apis = isolates({ ipLimit, keyLimit });
    const organization = await makeOrganization();
    const keys = [(await makeKey(organization)).value, (await makeKey(organization)).value];
    const site = `2001:db8:${randomHex()}`;
    let turns = 0;
    // How each is sent, and all limits that count it.
    const address = (which: number) => ({
      send: () => ({ address: `198.51.100.${which}` }),
      limits: new Map([[`address ${which}`, ipLimit]]),
    });
    const network = (which: number) => ({
      send: () => ({ address: within(`${site}:${which}`) }),
      limits: new Map([
        [`/64 ${which}`, ipLimit],
        ['/48', siteLimit],
      ]),
    });
    const key = (which: number) => ({
      // From many addresses, so that none of them reaches its own limit.
      send: () => ({ address: `203.0.113.${turns++ % 60}`, key: keys[which] ?? '' }),
      limits: new Map([[`key ${which}`, keyLimit]]),
    });
    const step = fc.record({
      pause: fc.oneof(
        fc.constant(0),
        fc.constantFrom(1, 2_999, 3_000, 4_999, 5_000),
        fc.integer({ min: 1, max: 2_000 }),
      ),
      from: fc.oneof(fc.nat(1).map(address), fc.nat(6).map(network), fc.nat(1).map(key)),
      count: fc.integer({ min: 1, max: 25 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 30 }), async (steps) => {
        const admissions = new Admissions();
        pass(10_000);
        for (const { pause, from, count } of steps) {
          pass(pause);
          const limits = [...from.limits];
          const room = Math.min(...limits.map(([subject, limit]) => admissions.room(subject, limit)));
          const passed = await burst(apis, count, from.send);
          expect([limits, passed]).toEqual([limits, Math.min(count, room)]);
          for (const [subject] of limits) admissions.add(subject, passed);
        }
      }),
      {
        numRuns: runs('floods against a list of admissions, in sequences of 15 to 30', inLongRuns(20, 6)),
        endOnFailure: true,
      },
    );
  }, 300_000);

  test.each<[string, (site: string) => string]>([
    ['one address', () => '192.0.2.200'],
    ['random addresses of one /64', (site) => within(`${site}:1`)],
  ])('a flood from %s is admitted up to its limit, and all requests of others pass', async (_, attacker) => {
    const ipLimit = { quota: 120, windowMs: 10_000 };
    const apis = isolates({ ipLimit });
    let admitted = 0;
    const site = `2001:db8:${randomHex()}`;
    // Neighbouring addresses and networks, and requests without an address.
    const others = ['192.0.2.201', '192.0.2.199', `${site}:2::1`, `${site}::1`, ''];
    for (let second = 0; second < 12; second++) {
      pass(1_000);
      admitted += await burst(apis, 30, () => ({ address: attacker(site) }));
      for (const address of others) expect(await burst(apis, 5, () => ({ address }))).toBe(5);
    }
    // The limit is used up after four seconds, and has room for 30 again ten seconds after the
    // first 30.
    expect(admitted).toBe(120 + 2 * 30);
  });
});

describe('under a flood', () => {
  test('after a clock that was an hour ahead is corrected, a limit applies again as before', async () => {
    const apis = isolates({ ipLimit: { quota: 10, windowMs: 10_000 } });
    const flood = () => burst(apis, 30, () => ({ address: '203.0.113.7' }));
    pass(3_600_000);
    expect(await flood()).toBe(10);
    pass(-3_600_000);
    expect([await flood(), await flood()]).toEqual([10, 0]);
  });

  test('under a flood, neither the limiters nor the database store anything about requests', async () => {
    // Every 401 waits for a timer, also one that records nothing.
    vi.useFakeTimers({ toFake: ['Date'] });
    const organization = await makeOrganization();
    const { value: key } = await makeKey(organization);
    const limiters = countLimiters(env.RATE_LIMITER);
    const apis = isolates({ ipLimit: { quota: 40, windowMs: 10_000 } }, { RATE_LIMITER: limiters.namespace });
    const before = await rowCounts(organization);
    await burst(apis, 100, (index) => ({ address: `203.0.113.${index % 60}` }));
    await burst(apis, 100, () => ({ address: '198.51.100.1', key: generateKey('twb') }));
    await burst(apis, 100, (index) => ({ address: `203.0.113.${index % 60}`, key }));
    await Promise.all(apis.map((api) => api.settled()));
    expect(await rowCounts(organization)).toEqual(before);

    const names = new Set(limiters.names);
    expect(names.size).toBeGreaterThanOrEqual(60);
    for (const name of names) {
      const stored = await runInDurableObject(env.RATE_LIMITER.getByName(name), async (_, { storage }) => ({
        entries: (await storage.list()).size,
        tables: storage.sql.exec('select name from sqlite_master').toArray(),
        alarm: await storage.getAlarm(),
      }));
      expect(stored).toEqual({ entries: 0, tables: [], alarm: null });
    }
  });

  test('a flood with a revoked key leaves one count and the latest 50 requests, for at most 10 writes of an isolate in a minute', async () => {
    // To record a refused use waits for a timer.
    vi.useFakeTimers({ toFake: ['Date'] });
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    await revoke(organization, key.id);
    const d1 = countD1(env.DB);
    const apis = isolates({}, { DB: d1.db });
    const before = await rowCounts(organization);
    const minutes = 4;
    for (let minute = 0; minute < minutes; minute++) {
      pass(60_000);
      await burst(apis, 60, () => ({ address: '203.0.113.7', key: key.value }));
      await Promise.all(apis.map((api) => api.settled()));
    }
    expect(await rowCounts(organization)).toEqual({ ...before, refused_uses: 1, refused_requests: 50 });
    expect(d1.calls.filter(({ rowsWritten }) => rowsWritten > 0)).toHaveLength(10 * minutes * ISOLATES);
  });
});
