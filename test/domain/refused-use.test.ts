import { describe, expect, test } from 'vitest';
import { RefusedUseMeter } from '../../src/domain/refused-use.ts';

describe('the meter of refused uses', () => {
  test('records a use once a minute, with the number of uses since the last record', () => {
    const meter = new RefusedUseMeter();
    expect([0, 1, 59_999].map((now) => meter.count('a', now))).toEqual([1, 0, 0]);
    expect(meter.count('b', 5)).toBe(1);
    expect(meter.count('a', 60_000)).toBe(3);
    expect(meter.count('a', 180_000)).toBe(1);
  });

  test('forgets the oldest subject when it has 1,000', () => {
    const meter = new RefusedUseMeter();
    meter.count('first', 0);
    meter.count('first', 1);
    for (let subject = 0; subject < 1_000; subject++) meter.count(String(subject), 2);
    expect(meter.count('first', 3)).toBe(1);
    expect(meter.count('999', 4)).toBe(0);
  });
});
