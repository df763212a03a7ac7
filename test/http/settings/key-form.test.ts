import { describe, expect, test } from 'vitest';
import { EXPIRING_MS, keyState } from '../../../src/domain/api-key.ts';
import { addDays, startOfDate } from '../../../src/domain/calendar.ts';
import { timeOfId, timeOrderedId } from '../../../src/domain/record-id.ts';
import { RefusedUseMeter } from '../../../src/domain/refused-use.ts';
import { csvLine } from '../../../src/lib/csv.ts';

test('a key is expiring in its last 30 days, expired from its expiry on, and revoked whatever else', () => {
  const now = 1_000_000_000_000;
  const state = (expiresAt: number | null, revokedAt: number | null = null) => keyState({ expiresAt, revokedAt }, now);
  expect([state(null), state(now + EXPIRING_MS + 1)]).toEqual(['active', 'active']);
  expect([state(now + EXPIRING_MS), state(now + 1)]).toEqual(['expiring', 'expiring']);
  expect([state(now), state(now - 1)]).toEqual(['expired', 'expired']);
  expect([state(null, now + 5), state(now - 1, 0)]).toEqual(['revoked', 'revoked']);
});

test.each([
  ['UTC', '2027-03-14', '2027-03-14T00:00:00Z'],
  ['America/New_York', '2027-03-15', '2027-03-15T04:00:00Z'],
  ['America/New_York', '2027-03-14', '2027-03-14T05:00:00Z'],
  ['Asia/Tokyo', '2027-01-01', '2026-12-31T15:00:00Z'],
])('in %s the day %s begins at %s', (timeZone, date, instant) => {
  expect(startOfDate(date, timeZone)).toBe(Date.parse(instant));
});

test('days are added over the ends of months and years', () => {
  expect([addDays('2027-12-31', 1), addDays('2028-02-28', 1), addDays('2027-03-01', -1)]).toEqual([
    '2028-01-01',
    '2028-02-29',
    '2027-02-28',
  ]);
});

test('a version 7 id tells when it was made; no other text does', () => {
  const id = timeOrderedId(1_795_000_000_123);
  expect(timeOfId(id)).toBe(1_795_000_000_123);
  for (const other of ['', 'triage:1', '0e7b8f5e-1b4d-4c3a-9f63-2a6d3a8c9b10']) expect(timeOfId(other)).toBeUndefined();
});

describe('a line of CSV', () => {
  test('quotes texts, leaves numbers bare and absent cells empty', () => {
    expect(csvLine(['a "b"', 'c,d\ne', -5, null])).toBe('"a ""b""","c,d\ne",-5,\r\n');
  });

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', ' =1', '\r=1', '＝1', '\u200b=1'])(
    'puts an apostrophe before %j',
    (text) => {
      expect(csvLine([text])).toBe(`"'${text}"\r\n`);
    },
  );

  test('leaves harmless texts as they are', () => {
    expect(csvLine(['n8n: a-b=c', 'x@y.example'])).toBe('"n8n: a-b=c","x@y.example"\r\n');
  });
});

describe('the meter of refused uses', () => {
  test('records one in a minute, and what came in between with the next', () => {
    const meter = new RefusedUseMeter();
    expect([0, 1, 59_999].map((now) => meter.count('a', now))).toEqual([1, 0, 0]);
    expect(meter.count('b', 5)).toBe(1);
    expect(meter.count('a', 60_000)).toBe(3);
    expect(meter.count('a', 180_000)).toBe(1);
  });

  test('forgets the oldest rather than grow without end', () => {
    const meter = new RefusedUseMeter();
    meter.count('first', 0);
    meter.count('first', 1);
    for (let subject = 0; subject < 1_000; subject++) meter.count(String(subject), 2);
    expect(meter.count('first', 3)).toBe(1);
    expect(meter.count('999', 4)).toBe(0);
  });
});
