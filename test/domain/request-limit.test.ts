import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_QUOTA, parseRequestLimit, type RequestLimit, SlidingWindowLog } from '../../src/domain/request-limit.ts';
import { runs } from '../support/property.ts';

const requestLimit = (quota: number, windowMs: number): RequestLimit => ({ quota, windowMs });

describe('a requestLimit', () => {
  test('a request limit is written quota/window', () => {
    expect(parseRequestLimit('200/10s')).toEqual(requestLimit(200, 10_000));
    expect(parseRequestLimit('1/1s')).toEqual(requestLimit(1, 1_000));
    expect(parseRequestLimit('10000/10s')).toEqual(requestLimit(10_000, 10_000));
  });

  test.each([
    '',
    '200',
    '200/10',
    '0/10s',
    '10001/10s',
    '200/0s',
    '200/11s',
    '200/10m',
    '-1/10s',
    '1.5/10s',
    ' 200/10s',
  ])('the request limit %j is refused', (text) => {
    expect(() => parseRequestLimit(text)).toThrow(`"${text}" is not a rate limit`);
  });
});

describe('the sliding window', () => {
  test('admits the quota immediately, and the next request when the oldest one has left the window', () => {
    const log = new SlidingWindowLog();
    const three = requestLimit(3, 10_000);
    expect(log.take(three, 0)).toEqual({ admitted: true, remaining: 2, resetMs: 10_000, retryAfterMs: 0 });
    expect(log.take(three, 4_000).remaining).toBe(1);
    expect(log.take(three, 5_000)).toEqual({ admitted: true, remaining: 0, resetMs: 5_000, retryAfterMs: 5_000 });
    expect(log.take(three, 9_999)).toEqual({ admitted: false, remaining: 0, resetMs: 1, retryAfterMs: 1 });
    expect(log.take(three, 10_000)).toEqual({ admitted: true, remaining: 0, resetMs: 4_000, retryAfterMs: 4_000 });
    expect(log.take(three, 13_999).admitted).toBe(false);
    expect(log.take(three, 14_000).admitted).toBe(true);
  });

  test('does not count refused requests', () => {
    const log = new SlidingWindowLog();
    log.take(requestLimit(1, 1_000), 0);
    for (let time = 0; time < 1_000; time += 10) expect(log.take(requestLimit(1, 1_000), time).admitted).toBe(false);
    expect(log.take(requestLimit(1, 1_000), 1_000).admitted).toBe(true);
  });

  test('applies a changed request limit immediately to the past admissions', () => {
    const log = new SlidingWindowLog();
    for (let i = 0; i < 10; i++) log.take(requestLimit(10, 1_000), 0);
    expect(log.take(requestLimit(11, 1_000), 0).admitted).toBe(true);
    expect(log.take(requestLimit(11, 1_000), 0).admitted).toBe(false);
    // A longer window includes earlier admissions, and a lower quota counts all of them.
    expect(log.take(requestLimit(12, 10_000), 5_000).admitted).toBe(true);
    expect(log.take(requestLimit(5, 10_000), 9_999)).toEqual({
      admitted: false,
      remaining: 0,
      resetMs: 1,
      retryAfterMs: 1,
    });
    expect(log.take(requestLimit(5, 10_000), 10_000).remaining).toBe(3);
  });

  test('does not go back in time with its clock', () => {
    const log = new SlidingWindowLog();
    expect(log.take(requestLimit(2, 1_000), 5_000).admitted).toBe(true);
    expect(log.take(requestLimit(2, 1_000), 1_000).admitted).toBe(true);
    expect(log.take(requestLimit(2, 1_000), 1_000)).toEqual({
      admitted: false,
      remaining: 0,
      resetMs: 1_000,
      retryAfterMs: 1_000,
    });
  });

  test('keeps the largest quota exactly', () => {
    const log = new SlidingWindowLog();
    const largest = requestLimit(MAX_QUOTA, 10_000);
    for (let i = 0; i < MAX_QUOTA; i++) expect(log.take(largest, i).admitted).toBe(true);
    expect(log.take(largest, 9_999)).toMatchObject({ admitted: false, retryAfterMs: 1 });
    for (let i = 0; i < MAX_QUOTA; i++) expect(log.take(largest, 10_000 + i).admitted).toBe(true);
  });

  test('agrees with a list of all admissions for any times and policies', () => {
    const call = fc.record({
      pause: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4_000 })),
      quota: fc.integer({ min: 1, max: 30 }),
      seconds: fc.integer({ min: 1, max: 10 }),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 200 }), (calls) => {
        const log = new SlidingWindowLog();
        const admissions: number[] = [];
        let now = 0;
        for (const { pause, quota, seconds } of calls) {
          now += pause;
          const windowMs = seconds * 1_000;
          const within = () => admissions.filter((time) => time > now - windowMs);
          const admitted = within().length < quota;
          if (admitted) admissions.push(now);
          const counted = within();
          const decision = log.take(requestLimit(quota, windowMs), now);
          expect(decision.admitted).toBe(admitted);
          expect(decision.remaining).toBe(Math.max(0, quota - counted.length));
          expect(decision.resetMs).toBe((counted[0] ?? now - windowMs) + windowMs - now);
          // A request is admitted after the wait that was returned, and not a millisecond earlier.
          const free = (time: number) => admissions.filter((admission) => admission > time - windowMs).length < quota;
          expect(free(now + decision.retryAfterMs)).toBe(true);
          if (decision.retryAfterMs > 0) expect(free(now + decision.retryAfterMs - 1)).toBe(false);
        }
      }),
      { numRuns: runs('sliding window against its model', 500) },
    );
  });
});
