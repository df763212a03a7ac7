import { describe, expect, test } from 'vitest';
import { RefusedUseMeter } from '../../src/domain/refused-use.ts';

describe('the meter of refused uses', () => {
  test('records each of ten uses in a minute, and then the number of uses since the last record', () => {
    const meter = new RefusedUseMeter();
    const taken = Array.from({ length: 12 }, (_, index) => meter.take('org', 'a', index)?.count);
    expect(taken).toEqual([...Array<number>(10).fill(1), undefined, undefined]);
    expect(meter.take('org', 'b', 5)?.count).toBe(1);
    expect(meter.take('org', 'a', 60_000)?.count).toBe(3);
    expect(meter.take('org', 'a', 60_001)?.count).toBe(1);
    expect(meter.take('org', 'a', 180_000)?.count).toBe(1);
  });

  test('records lost writes in full where other uses of the organization reached its limit', () => {
    const meter = new RefusedUseMeter();
    const lost = (index: number) => ({ at: index, idempotencyKey: `k:${index}`, ticketId: '1', requestId: `${index}` });
    for (let subject = 0; subject < 60; subject++) meter.take('org', `${subject}`, 0);
    expect([meter.take('org', '1', 1)?.count, meter.take('org', 'new', 1)?.count]).toEqual([undefined, 1]);
    const taken = Array.from({ length: 17 }, (_, index) => meter.take('org', 'lost', index, lost(index))?.lost);
    expect(taken).toEqual([...Array.from({ length: 10 }, (_, index) => [lost(index)]), ...Array(7).fill(undefined)]);
    // The latest of those in between are not forgotten.
    const next = meter.take('org', 'lost', 60_000, lost(17));
    expect([next?.count, next?.lost]).toEqual([8, [17, 16, 15, 14, 13, 12].map(lost)]);
  });

  test('a key and reason is recorded a limited number of times a minute, however many there are', () => {
    const meter = new RefusedUseMeter();
    const records = (minute: number, organization = 'org', subjects = 1_001) => {
      let recorded = 0;
      for (let round = 0; round < 10; round++)
        for (let subject = 0; subject < subjects; subject++)
          if (meter.take(organization, `${subject}`, minute * 60_000)) recorded += 1;
      return recorded;
    };
    // Each organization has its own share, and so does each minute.
    expect([records(0), records(0, 'other', 3), records(0), records(1)]).toEqual([100, 30, 0, 100]);
    expect(meter.take('org', '1000', 120_000)?.count).toBe(1);
    // The other organization’s counts are unaffected.
    expect(meter.take('other', '0', 120_000)?.count).toBe(1);
  });

  test('the number of organizations is limited too', () => {
    const meter = new RefusedUseMeter();
    const take = (organization: number, now: number) => meter.take(`${organization}`, 'a', now)?.count;
    const counts = Array.from({ length: 501 }, (_, organization) => take(organization, 0));
    expect(counts.filter(Boolean)).toHaveLength(500);
    expect([take(500, 59_999), take(0, 59_999), take(500, 60_000), take(499, 60_000)]).toEqual([undefined, 1, 1, 1]);
  });
});
