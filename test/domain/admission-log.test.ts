import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  AdmissionLog,
  MAX_NETWORK_QUOTA,
  MAX_QUOTA,
  NETWORK_QUOTA_FACTOR,
  type RequestLimit,
} from '../../src/domain/request-limit.ts';
import { runs } from '../support/property.ts';

const requestLimit = (quota: number, windowMs: number): RequestLimit => ({ quota, windowMs });

describe('the sliding window', () => {
  test('admits the quota immediately, and the next request when the oldest one has left the window', () => {
    const log = new AdmissionLog();
    const three = requestLimit(3, 10_000);
    expect(log.take(three, 0)).toMatchObject({ admitted: true, remaining: 2, resetMs: 10_000, retryAfterMs: 0 });
    expect(log.take(three, 4_000).remaining).toBe(1);
    expect(log.take(three, 5_000)).toMatchObject({ admitted: true, remaining: 0, resetMs: 5_000, retryAfterMs: 5_000 });
    expect(log.take(three, 9_999)).toMatchObject({ admitted: false, remaining: 0, resetMs: 1, retryAfterMs: 1 });
    expect(log.take(three, 10_000)).toMatchObject({
      admitted: true,
      remaining: 0,
      resetMs: 4_000,
      retryAfterMs: 4_000,
    });
    expect(log.take(three, 13_999).admitted).toBe(false);
    expect(log.take(three, 14_000).admitted).toBe(true);
  });

  test('drops what was admitted more than a window in the future, and keeps the rest', () => {
    const { log, take } = makeNetwork();
    for (const time of [5_000, 12_000]) for (const id of [1, 2]) take(id, time);
    expect(take(1, 12_000)).toMatchObject({ admitted: false });
    // The clock was wrong, and is right again.
    expect(take(1, 1_000)).toMatchObject({ admitted: true, remaining: 0, retryAfterMs: 10_000 });
    expect(heldBy(log)).toEqual({ subnets: 2, numbers: 9 });
    take(3, 3_600_000);
    expect(take(3, 1_000)).toMatchObject({ admitted: true, remaining: 1 });
  });
});

/** A log that is asked with a quota for the subnet, and four times as much for the network. */
function makeNetwork() {
  const log = new AdmissionLog();
  const take = (id: number | null, now: number, { quota, windowMs }: RequestLimit = requestLimit(2, 10_000)) => {
    const subnet = id === null ? undefined : { id, requestLimit: requestLimit(Math.min(quota, MAX_QUOTA), windowMs) };
    return log.take(requestLimit(NETWORK_QUOTA_FACTOR * quota, windowMs), now, subnet);
  };
  return { log, take };
}

describe('the limits of a network and its subnets', () => {
  test('the clock of subnet and network stays still when the time steps back', () => {
    const { take } = makeNetwork();
    take(1, 5_000);
    take(1, 1_000);
    expect(take(1, 1_000)).toMatchObject({ admitted: false, retryAfterMs: 10_000 });
    expect(take(1, 14_999).admitted).toBe(false);
    expect(take(1, 15_000).admitted).toBe(true);
    // The network's clock too, for a subnet that it does not know yet.
    for (const id of [2, 3, 4]) for (let i = 0; i < 2; i++) take(id, 15_000);
    take(5, 15_000);
    expect(take(6, 14_000)).toMatchObject({ admitted: false, ofSubnet: false, retryAfterMs: 10_000 });
  });

  test('the limits agree with a plain list of admissions, for any times, subnets and policies', () => {
    const call = fc.record({
      pause: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4_000 })),
      // Null for a request that no subnet's limit counts.
      id: fc.option(fc.integer({ min: 0, max: 5 }), { freq: 6 }),
      quota: fc.integer({ min: 1, max: 8 }),
      seconds: fc.integer({ min: 1, max: 10 }),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 200 }), (calls) => {
        const { take } = makeNetwork();
        const admissions: { id: number | null; time: number }[] = [];
        let now = 0;
        for (const { pause, id, quota, seconds } of calls) {
          now += pause;
          const windowMs = seconds * 1_000;
          const times = (ofSubnet: boolean) =>
            admissions.filter((admission) => !ofSubnet || admission.id === id).map(({ time }) => time);
          const quotaOf = (ofSubnet: boolean) => (ofSubnet ? quota : NETWORK_QUOTA_FACTOR * quota);
          const free = (ofSubnet: boolean, at: number) =>
            times(ofSubnet).filter((time) => time > at - windowMs).length < quotaOf(ofSubnet);
          const both = (at: number) => (id === null || free(true, at)) && free(false, at);
          const admitted = both(now);
          if (admitted) admissions.push({ id, time: now });

          const decision = take(id, now, requestLimit(quota, windowMs));
          expect(decision.admitted).toBe(admitted);
          const ofSubnet = decision.ofSubnet === true;
          const counted = times(ofSubnet).filter((time) => time > now - windowMs);
          expect(decision.remaining).toBe(Math.max(0, quotaOf(ofSubnet) - counted.length));
          expect(decision.resetMs).toBe((counted[0] ?? now - windowMs) + windowMs - now);
          // After the wait it named both limits admit a request, and not a millisecond earlier.
          expect(both(now + decision.retryAfterMs)).toBe(true);
          if (decision.retryAfterMs > 0) expect(both(now + decision.retryAfterMs - 1)).toBe(false);
        }
      }),
      { numRuns: runs('a network and its subnets against their model', 500) },
    );
  });
});

/** How many subnets a log has, and how many times and ids it holds in all. */
function heldBy(log: AdmissionLog) {
  const held = { subnets: 0, numbers: 0 };
  const parts: unknown[] = Object.values(log);
  for (const part of parts) {
    if (part instanceof Map) held.subnets += part.size;
    const lists: unknown[] = part instanceof Map ? [...part.values()] : [part];
    for (const list of lists) if (Array.isArray(list)) held.numbers += list.length;
  }
  return held;
}

describe('the memory of a network', () => {
  const SUBNETS = 65_536;
  const largest = requestLimit(MAX_QUOTA, 1_000);

  test("a network's log stores exactly the largest quota", () => {
    const { take } = makeNetwork();
    const tenSeconds = requestLimit(MAX_QUOTA, 10_000);
    for (let i = 0; i < MAX_NETWORK_QUOTA; i++) expect(take(i, Math.floor(i / 4), tenSeconds).admitted).toBe(true);
    expect(take(1, 9_999, tenSeconds)).toMatchObject({ admitted: false, ofSubnet: false, retryAfterMs: 1 });
    expect(take(1, 10_000, tenSeconds).admitted).toBe(true);
  });

  test('the memory stays bounded under the largest floods from all subnets, and refusals create no log', () => {
    const { log, take } = makeNetwork();
    let most = { subnets: 0, numbers: 0 };
    let admitted = 0;
    for (let i = 0; i < 4 * SUBNETS; i++) {
      if (take(i % SUBNETS, Math.floor(i / 50), largest).admitted) admitted += 1;
      if (i % SUBNETS === SUBNETS - 1) {
        const { subnets, numbers } = heldBy(log);
        most = { subnets: Math.max(most.subnets, subnets), numbers: Math.max(most.numbers, numbers) };
      }
    }
    console.log(`${admitted} admitted; at most ${most.subnets} subnets, ${most.numbers} numbers`);
    expect(admitted).toBeGreaterThan(5 * MAX_NETWORK_QUOTA);
    // Twice the entries that count. Of each admission: its time and subnet, and the time once more for the subnet.
    expect(most.subnets).toBeLessThanOrEqual(2 * MAX_NETWORK_QUOTA);
    expect(most.numbers).toBeLessThanOrEqual(3 * 2 * MAX_NETWORK_QUOTA);
  });

  test('the memory is freed when the entries have left the window', () => {
    const { log, take } = makeNetwork();
    for (let id = 0; id < 10_000; id++) take(id, 0, largest);
    expect(heldBy(log).subnets).toBe(10_000);
    take(1, 9_999, largest);
    expect(heldBy(log).subnets).toBe(10_000);
    take(2, 10_000, largest);
    expect(heldBy(log)).toEqual({ subnets: 2, numbers: 6 });
  });

  test('after a flood, a longer window still refuses a subnet, because the network is full', () => {
    const { take } = makeNetwork();
    take(1, 0, largest);
    for (let i = 0; i < MAX_NETWORK_QUOTA; i++) take(2 + i, 1 + Math.floor(i / 40), largest);
    expect(take(1, 2_000, requestLimit(1, 10_000))).toMatchObject({ admitted: false, ofSubnet: false });
  });
});
