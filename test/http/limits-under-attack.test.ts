import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Config } from '../../src/config.ts';
import { generateKey } from '../../src/domain/api-key.ts';
import { RefusedUseMeter } from '../../src/domain/refused-use.ts';
import type { RequestLimit } from '../../src/domain/request-limit.ts';
import { ExpiringMap } from '../../src/lib/expiring-map.ts';
import { countD1 } from '../support/d1.ts';
import { rowCounts } from '../support/hostile.ts';
import { countLimiters, plainLimiters } from '../support/limiter.ts';
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
const isolates = (settings: Partial<Config>, bindings: Partial<Env> = {}) =>
  Array.from({ length: ISOLATES }, () => makeApi({ config: settings, bindings }));
const randomHex = () => Math.floor(Math.random() * 0x10000).toString(16);
/** A random address of an IPv6 /64. */
const within = (network: string) => `${network}:${[1, 2, 3, 4].map(randomHex).join(':')}`;

/** The times at which requests were admitted, by the subject of the limit. */
class Admissions {
  private readonly times = new Map<string, number[]>();

  of(subject: string): number[] {
    const times = this.times.get(subject) ?? [];
    this.times.set(subject, times);
    return times;
  }

  /** How many requests the limit admits now. */
  room(subject: string, { quota, windowMs }: RequestLimit): number {
    const now = Date.now();
    return quota - this.of(subject).filter((time) => time > now - windowMs).length;
  }

  /**
   * Checks that no window holds more admissions than the quota. Returns how many admissions were
   * checked.
   */
  check({ quota, windowMs }: RequestLimit): number {
    let checked = 0;
    for (const [subject, times] of this.times) {
      for (const [index, time] of times.entries()) {
        const next = times[index + quota];
        if (next !== undefined && next - time < windowMs)
          throw new Error(`${subject}: ${quota + 1} admitted within ${next - time} ms`);
        checked += 1;
      }
    }
    return checked;
  }
}

/** Sends requests at once, distributed over the isolates. Returns how many passed the limits. */
async function burst(
  apis: readonly Api[],
  count: number,
  request: (index: number) => { key?: string; address: string },
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
    const keyLimit = { quota: 15, windowMs: 5_000 };
    const apis = isolates({ ipLimit, keyLimit });
    const organization = await makeOrganization();
    const keys = [(await makeKey(organization)).value, (await makeKey(organization)).value];
    const networks = [`2001:db8:${randomHex()}:1`, `2001:db8:${randomHex()}:2`];
    const step = fc.record({
      pause: fc.oneof(
        fc.constant(0),
        fc.constantFrom(1, 2_999, 3_000, 4_999, 5_000),
        fc.integer({ min: 1, max: 2_000 }),
      ),
      from: fc.constantFrom('address', 'network', 'key'),
      which: fc.nat(1),
      count: fc.integer({ min: 1, max: 25 }),
    });
    let turns = 0;
    let checked = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 20 }), async (steps) => {
        const byAddress = new Admissions();
        const byKey = new Admissions();
        pass(10_000);
        for (const { pause, from, which, count } of steps) {
          pass(pause);
          const subject = `${from} ${which}`;
          const log = from === 'key' ? byKey : byAddress;
          const requestLimit = from === 'key' ? keyLimit : ipLimit;
          const room = log.room(subject, requestLimit);
          const passed = await burst(apis, count, () => {
            if (from === 'address') return { address: `198.51.100.${which}` };
            if (from === 'network') return { address: within(networks[which] ?? '') };
            // From many addresses, so that none of them reaches its own limit.
            return { address: `203.0.113.${turns++ % 60}`, key: keys[which] ?? '' };
          });
          expect([subject, passed]).toEqual([subject, Math.min(count, room)]);
          log.of(subject).push(...Array<number>(passed).fill(Date.now()));
        }
        checked += byAddress.check(ipLimit) + byKey.check(keyLimit);
      }),
      {
        numRuns: runs('floods against a list of admissions, in sequences of 10 to 20', inLongRuns(20, 6)),
        endOnFailure: true,
      },
    );
    console.log(`admissions checked: ${checked}`);
    expect(checked).toBeGreaterThan(500);
  }, 300_000);

  test.each<[string, (site: string) => string]>([
    ['one address', () => '192.0.2.200'],
    ['random addresses of one /64', (site) => within(`${site}:1`)],
  ])('a flood from %s is admitted up to its limit, and all requests of others pass', async (_, attacker) => {
    const ipLimit = { quota: 120, windowMs: 10_000 };
    const apis = isolates({ ipLimit });
    const admissions = new Admissions();
    const site = `2001:db8:${randomHex()}`;
    // Neighbouring addresses and networks, and requests without an address.
    const others = ['192.0.2.201', '192.0.2.199', `${site}:2::1`, `${site}::1`, ''];
    for (let second = 0; second < 12; second++) {
      pass(1_000);
      const passed = await burst(apis, 30, () => ({ address: attacker(site) }));
      admissions.of('attacker').push(...Array<number>(passed).fill(Date.now()));
      for (const address of others) expect(await burst(apis, 5, () => ({ address }))).toBe(5);
    }
    console.log(`admissions checked: ${admissions.check(ipLimit)}`);
    // The limit is used up after four seconds, and has room for 30 again ten seconds after the
    // first 30.
    expect(admissions.of('attacker')).toHaveLength(120 + 2 * 30);
  });

  test("a flood with one key from many addresses uses up the key's limit, and no other limit", async () => {
    const keyLimit = { quota: 50, windowMs: 10_000 };
    const apis = isolates({ keyLimit });
    const organization = await makeOrganization();
    const [key, other] = [(await makeKey(organization)).value, (await makeKey(organization)).value];
    const address = (index: number) => `203.0.113.${index % 60}`;
    expect(await burst(apis, 300, (index) => ({ address: address(index), key }))).toBe(50);
    expect(await burst(apis, 50, (index) => ({ address: address(index), key: other }))).toBe(50);
    expect(await burst(apis, 60, (index) => ({ address: address(index) }))).toBe(60);
  });
});

describe('under a flood', () => {
  test('under a flood, the caches of an isolate stay within their bounds', async () => {
    const requestLimit = { quota: 1, windowMs: 10_000 };
    const set = vi.spyOn(ExpiringMap.prototype, 'set');
    // The limiters are in this isolate, because many objects would take minutes. test/e2e/raw.test.ts
    // has a flood with real ones.
    const api = makeApi({
      config: { ipLimit: requestLimit },
      bindings: { RATE_LIMITER: plainLimiters(env.RATE_LIMITER) },
    });
    const { value: key } = await makeKey(await makeOrganization());
    let addresses = 0;
    /** Adds entries to both caches: two refused requests, and one with the key. */
    const request = async () => {
      const address = `10.0.0.${addresses++}`;
      expect(await burst([api], 3, () => ({ address }))).toBe(1);
      expect(await burst([api], 1, () => ({ address: `10.0.1.${addresses}`, key }))).toBe(1);
    };
    await request();
    const entries = set.mock.contexts.map((map, index) => ({ map, entry: set.mock.calls[index] }));
    set.mockRestore();
    const caches = new Set<ExpiringMap<unknown>>();
    // More entries like these than a cache may have.
    for (const { map, entry } of entries) {
      if (!(map instanceof ExpiringMap) || !entry) throw new Error('no cache');
      caches.add(map);
      for (let number = 0; number < 11_000; number++) map.set(`entry ${number}`, entry[1], entry[2]);
    }
    for (let time = 0; time < 5; time++) await request();
    expect([...caches].map(({ size }) => size).sort((a, b) => a - b)).toEqual([1_000, 10_000]);

    const meter = new RefusedUseMeter();
    for (let organization = 0; organization < 5_000; organization++) meter.take(String(organization), 'key', 0);
    const organizations: unknown = Reflect.get(meter, 'organizations');
    expect(organizations instanceof Map && organizations.size).toBe(500);
  });

  test('after a clock that was an hour ahead is corrected, a limit applies again as before', async () => {
    const apis = isolates({ ipLimit: { quota: 10, windowMs: 10_000 } });
    const flood = () => burst(apis, 30, () => ({ address: '203.0.113.7' }));
    pass(3_600_000);
    expect(await flood()).toBe(10);
    pass(-3_600_000);
    expect([await flood(), await flood()]).toEqual([10, 0]);
  });

  test('under a flood, neither the limiters nor the database store anything about requests', async () => {
    const organization = await makeOrganization();
    const { value: key } = await makeKey(organization);
    const limiters = countLimiters(env.RATE_LIMITER);
    const apis = isolates({ ipLimit: { quota: 40, windowMs: 10_000 } }, { RATE_LIMITER: limiters.namespace });
    const before = await rowCounts();
    await burst(apis, 100, (index) => ({ address: `203.0.113.${index % 60}` }));
    await burst(apis, 100, () => ({ address: '198.51.100.1', key: generateKey('twb') }));
    await burst(apis, 100, (index) => ({ address: `203.0.113.${index % 60}`, key }));
    await Promise.all(apis.map((api) => api.settled()));
    expect(await rowCounts()).toEqual(before);

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

  test('a flood with a revoked key is recorded in one row, which each isolate writes at most once a minute', async () => {
    // To record a refused use waits for a timer.
    vi.useFakeTimers({ toFake: ['Date'] });
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    await revoke(organization, key.id);
    const d1 = countD1(env.DB);
    const apis = isolates({}, { DB: d1.db });
    const before = await rowCounts();
    const minutes = 3;
    for (let minute = 0; minute < minutes; minute++) {
      pass(60_000);
      await burst(apis, 60, () => ({ address: '203.0.113.7', key: key.value }));
      await Promise.all(apis.map((api) => api.settled()));
    }
    expect(await rowCounts()).toEqual({ ...before, refused_uses: (before['refused_uses'] ?? 0) + 1 });
    expect(d1.calls.filter(({ rowsWritten }) => rowsWritten > 0)).toHaveLength(minutes * ISOLATES);
  });
});
