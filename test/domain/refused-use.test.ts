import { describe, expect, test } from 'vitest';
import { RefusedUseMeter } from '../../src/domain/refused-use.ts';

describe('the meter of refused uses', () => {
  test('records a use once a minute, with the number of uses since the last record', () => {
    const meter = new RefusedUseMeter();
    expect([0, 1, 59_999].map((now) => meter.take('a', now)?.count)).toEqual([1, undefined, undefined]);
    expect(meter.take('b', 5)?.count).toBe(1);
    expect(meter.take('a', 60_000)?.count).toBe(3);
    expect(meter.take('a', 180_000)?.count).toBe(1);
  });

  test('forgets the oldest subject when it has 1,000', () => {
    const meter = new RefusedUseMeter();
    meter.take('first', 0);
    meter.take('first', 1);
    for (let subject = 0; subject < 1_000; subject++) meter.take(String(subject), 2);
    expect(meter.take('first', 3)?.count).toBe(1);
    expect(meter.take('999', 4)).toBeUndefined();
  });
});
