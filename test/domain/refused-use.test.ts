import { describe, expect, test } from 'vitest';
import { RefusedUseMeter } from '../../src/domain/refused-use.ts';

describe('the meter of refused uses', () => {
  test('records a use once a minute, with the number of uses since the last record', () => {
    const meter = new RefusedUseMeter();
    expect([0, 1, 59_999].map((now) => meter.take('org', 'a', now)?.count)).toEqual([1, undefined, undefined]);
    expect(meter.take('org', 'b', 5)?.count).toBe(1);
    expect(meter.take('org', 'a', 60_000)?.count).toBe(3);
    expect(meter.take('org', 'a', 180_000)?.count).toBe(1);
  });

  test('a key and reason is recorded at most once a minute, however many there are', () => {
    const meter = new RefusedUseMeter();
    const records = (minute: number, organization = 'org', subjects = 1_001) => {
      let recorded = 0;
      for (let round = 0; round < 10; round++)
        for (let subject = 0; subject < subjects; subject++)
          if (meter.take(organization, `${subject}`, minute * 60_000)) recorded += 1;
      return recorded;
    };
    // Each organization has its own share, and so does each minute.
    expect([records(0), records(0, 'other', 3), records(0), records(1)]).toEqual([100, 3, 0, 100]);
    expect(meter.take('org', '1000', 120_000)?.count).toBe(1);
    // The other organization’s counts are unaffected.
    expect(meter.take('other', '0', 120_000)?.count).toBe(10);
  });

  test('the number of organizations is limited too', () => {
    const meter = new RefusedUseMeter();
    const take = (organization: number, now: number) => meter.take(`${organization}`, 'a', now)?.count;
    const counts = Array.from({ length: 501 }, (_, organization) => take(organization, 0));
    expect(counts.filter(Boolean)).toHaveLength(500);
    expect([take(500, 59_999), take(0, 59_999), take(500, 60_000), take(499, 60_000)]).toEqual([
      undefined,
      undefined,
      1,
      1,
    ]);
  });
});
