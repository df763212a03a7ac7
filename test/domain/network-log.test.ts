import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_NETWORK_QUOTA, NETWORK_QUOTA_FACTOR, NetworkLog } from '../../src/domain/network-log.ts';
import { MAX_QUOTA, type RequestLimit } from '../../src/domain/request-limit.ts';
import { heldBytes, heldEntries } from '../support/held-bytes.ts';
import { runs } from '../support/property.ts';

const requestLimit = (quota: number, windowMs: number): RequestLimit => ({ quota, windowMs });

/** A log that is asked with a quota for the subnet, and four times as much for the network. */
function makeNetwork() {
  const log = new NetworkLog();
  const take = (id: number, now: number, { quota, windowMs }: RequestLimit = requestLimit(2, 10_000)) =>
    log.take(
      requestLimit(NETWORK_QUOTA_FACTOR * quota, windowMs),
      { id, requestLimit: requestLimit(Math.min(quota, MAX_QUOTA), windowMs) },
      now,
    );
  return { log, take };
}

describe('the limits of a network and its subnets', () => {
  test('each subnet gets its quota, and all together get four times as much', () => {
    const { take } = makeNetwork();
    for (let id = 0; id < 4; id++) {
      expect(take(id, 0)).toMatchObject({ admitted: true, remaining: 1 });
      expect(take(id, 0).admitted).toBe(true);
    }
    expect(take(4, 0)).toEqual({
      admitted: false,
      remaining: 0,
      resetMs: 10_000,
      retryAfterMs: 10_000,
      ofSubnet: false,
    });
  });

  test('the limit that refuses gives the time to wait, and of two limits the longer time counts', () => {
    const { take } = makeNetwork();
    const five = requestLimit(5, 1_000);
    for (const now of [0, 500, 0]) take(7, now, five);
    expect(take(7, 600, requestLimit(2, 1_000))).toMatchObject({ admitted: false, ofSubnet: true, retryAfterMs: 900 });
    for (let id = 0; id < 4; id++) for (let i = 0; i < 5; i++) take(id, 900, five);
    // The network is full, with 3 entries of subnet 7 and 17 of the others, until the first leaves.
    expect(take(8, 900, five)).toMatchObject({ admitted: false, ofSubnet: false, retryAfterMs: 100 });
    expect(take(0, 900, five)).toMatchObject({ admitted: false, ofSubnet: true, retryAfterMs: 1_000 });
    expect(take(3, 900, five)).toMatchObject({ admitted: false, ofSubnet: false, retryAfterMs: 100 });
  });

  test('a request takes from both limits or from neither', () => {
    const { take } = makeNetwork();
    for (let i = 0; i < 10; i++) take(1, 0);
    // Nine refusals of the subnet took nothing from the network.
    for (const id of [2, 3, 4]) for (let i = 0; i < 2; i++) expect(take(id, 5_000).admitted).toBe(true);
    // Nor do refusals of the network take anything from the subnet.
    for (let i = 0; i < 10; i++) expect(take(5, 6_000)).toMatchObject({ admitted: false, ofSubnet: false });
    expect(take(5, 10_000)).toMatchObject({ admitted: true, remaining: 1, ofSubnet: false });
    expect(take(5, 10_000).admitted).toBe(true);
    expect(take(5, 10_000).admitted).toBe(false);
  });

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

  test("each subnet keeps its own clock, apart from the network's clock", () => {
    const { take } = makeNetwork();
    take(1, 50_000);
    for (let i = 0; i < 2; i++) expect(take(2, 20_000).admitted).toBe(true);
    expect(take(2, 29_999)).toMatchObject({ admitted: false, ofSubnet: true, retryAfterMs: 1 });
    expect(take(2, 30_000).admitted).toBe(true);
  });

  test('the limits agree with a plain list of admissions, for any times, subnets and policies', () => {
    const call = fc.record({
      pause: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4_000 })),
      id: fc.integer({ min: 0, max: 5 }),
      quota: fc.integer({ min: 1, max: 8 }),
      seconds: fc.integer({ min: 1, max: 10 }),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 200 }), (calls) => {
        const { take } = makeNetwork();
        const admissions: { id: number; time: number }[] = [];
        let now = 0;
        for (const { pause, id, quota, seconds } of calls) {
          now += pause;
          const windowMs = seconds * 1_000;
          const times = (ofSubnet: boolean) =>
            admissions.filter((admission) => !ofSubnet || admission.id === id).map(({ time }) => time);
          const quotaOf = (ofSubnet: boolean) => (ofSubnet ? quota : NETWORK_QUOTA_FACTOR * quota);
          const free = (ofSubnet: boolean, at: number) =>
            times(ofSubnet).filter((time) => time > at - windowMs).length < quotaOf(ofSubnet);
          const admitted = free(true, now) && free(false, now);
          if (admitted) admissions.push({ id, time: now });

          const decision = take(id, now, requestLimit(quota, windowMs));
          expect(decision.admitted).toBe(admitted);
          const ofSubnet = decision.ofSubnet === true;
          const counted = times(ofSubnet).filter((time) => time > now - windowMs);
          expect(decision.remaining).toBe(Math.max(0, quotaOf(ofSubnet) - counted.length));
          expect(decision.resetMs).toBe((counted[0] ?? now - windowMs) + windowMs - now);
          // After the wait it named both limits admit a request, and not a millisecond earlier.
          const both = (at: number) => free(true, at) && free(false, at);
          expect(both(now + decision.retryAfterMs)).toBe(true);
          if (decision.retryAfterMs > 0) expect(both(now + decision.retryAfterMs - 1)).toBe(false);
        }
      }),
      { numRuns: runs('a network and its subnets against their model', 500) },
    );
  });
});

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
    let most = { logs: 0, bytes: 0 };
    let admitted = 0;
    for (let i = 0; i < 4 * SUBNETS; i++) {
      if (take(i % SUBNETS, Math.floor(i / 50), largest).admitted) admitted += 1;
      if (i % SUBNETS === SUBNETS - 1) {
        most = { logs: Math.max(most.logs, heldEntries(log)), bytes: Math.max(most.bytes, heldBytes(log)) };
      }
    }
    console.log(`${admitted} admitted; at most ${most.logs} logs, ${most.bytes} bytes in rings`);
    expect(admitted).toBeGreaterThan(5 * MAX_NETWORK_QUOTA);
    expect(most.logs).toBe(MAX_NETWORK_QUOTA);
    // Two rings of 40,000 numbers, and one small ring for each of 40,000 subnets.
    expect(most.bytes).toBe(2 * 8 * 65_536 + MAX_NETWORK_QUOTA * 4 * 8);
  });

  test('the memory is freed when the entries have left the window', () => {
    const { log, take } = makeNetwork();
    for (let id = 0; id < 10_000; id++) take(id, 0, largest);
    expect(heldEntries(log)).toBe(10_000);
    take(1, 9_999, largest);
    expect(heldEntries(log)).toBe(10_000);
    take(2, 10_000, largest);
    expect(heldEntries(log)).toBe(2);
    expect(heldBytes(log)).toBeLessThan(1_000);
  });

  test('the memory shrinks for subnets whose traffic falls from many entries to a few', () => {
    const { log, take } = makeNetwork();
    const limit = requestLimit(1_000, 10_000);
    for (let round = 0; round < 40; round++) {
      // One subnet after the other sends many requests; from then on it sends one in 9 s.
      for (let i = 0; i < 900; i++) take(round, round * 9_000, limit);
      for (let id = 0; id < round; id++) take(id, round * 9_000, limit);
    }
    take(0, 40 * 9_000, limit);
    expect(heldEntries(log)).toBe(40);
    expect(heldBytes(log)).toBeLessThan(150_000);
  });

  test('after a flood, a longer window still refuses a subnet whose entry was dropped, because the network is full', () => {
    const { take } = makeNetwork();
    take(1, 0, largest);
    for (let i = 0; i < MAX_NETWORK_QUOTA; i++) take(2 + i, 1 + Math.floor(i / 40), largest);
    // The entry of subnet 1 is no longer held: the network, which is full, refuses in its place.
    expect(take(1, 2_000, requestLimit(1, 10_000))).toMatchObject({ admitted: false, ofSubnet: false });
  });
});
