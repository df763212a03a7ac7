import { describe, expect, test } from 'vitest';
import {
  type DayLimits,
  type DayUse,
  dayLimitId,
  exceededDayLimit,
  parseDayLimit,
  untilMidnight,
} from '../../src/domain/day-limit.ts';
import { fromKeys, keysOf } from '../../src/lib/objects.ts';

describe('a daily limit', () => {
  test.each([
    ['20000/64MB', { records: 20_000, bytes: 64_000_000 }],
    ['1/1MB', { records: 1, bytes: 1_000_000 }],
    [' 10000000/10000MB ', { records: 10_000_000, bytes: 10_000_000_000 }],
    ['', null],
    [' ', null],
  ])('the text "%s" is a daily limit', (text, limit) => {
    expect(parseDayLimit(text)).toEqual(limit);
  });

  test.each(['0/1MB', '1/0MB', '1', '1/1', '1/1GB', '1/1mb', '-1/1MB', '1.5/1MB', '10000001/1MB', '1/10001MB', 'none'])(
    'the text "%s" is not a daily limit',
    (text) => {
      expect(() => parseDayLimit(text)).toThrow(`"${text}" is not a daily limit`);
    },
  );
});

describe('a new record', () => {
  const limits: DayLimits = { key: { records: 10, bytes: 1_000 }, organization: { records: 20, bytes: 2_000 } };
  const none = { records: null, minutes: null };
  const nothing = { chainRecords: 0, chainMinutes: 0, chainBytes: 0, organizationRecords: 0, organizationBytes: 0 };
  const use = (written: Partial<DayUse>): DayUse => ({ ...nothing, ...written });
  const added = { minutes: 30, bytes: 100 };

  test('a new record fits while used + new is at most the limit', () => {
    const full = use({
      chainRecords: 9,
      chainMinutes: 30,
      chainBytes: 900,
      organizationRecords: 19,
      organizationBytes: 1_900,
    });
    expect(exceededDayLimit(limits, { records: 10, minutes: 60 }, full, added)).toBeUndefined();
  });

  test.each([
    ['key-day records', none, use({ chainRecords: 10 })],
    ['key-day records', { records: 10, minutes: null }, use({ chainRecords: 10 })],
    ['key-day bytes', none, use({ chainBytes: 901 })],
    ['own records', { records: 3, minutes: null }, use({ chainRecords: 3 })],
    ['own minutes', { records: null, minutes: 60 }, use({ chainMinutes: 31 })],
    ['organization-day records', none, use({ organizationRecords: 20 })],
    ['organization-day bytes', none, use({ organizationBytes: 1_901 })],
  ])('a new record that exceeds %s is refused', (expected, own, used) => {
    const exceeded = exceededDayLimit(limits, own, used, added);
    expect(exceeded && dayLimitId(exceeded)).toBe(expected.replace(' ', ':'));
  });

  test('a record without minutes fits even after the minutes are used up', () => {
    const own = { records: null, minutes: 60 };
    expect(exceededDayLimit(limits, own, use({ chainMinutes: 90 }), { minutes: 0, bytes: 1 })).toBeUndefined();
  });

  test('a new record always fits without a limit', () => {
    const huge = fromKeys(keysOf(nothing), () => 1e12);
    expect(exceededDayLimit({ key: null, organization: null }, none, huge, added)).toBeUndefined();
  });
});

test.each([
  // A day of 23 hours, one of 25 hours, and one of 24.
  ['America/New_York', '2027-03-14', '2027-03-14T05:00:00Z', 23],
  ['America/New_York', '2027-11-07', '2027-11-07T04:00:00Z', 25],
  ['Pacific/Kiritimati', '2027-01-01', '2026-12-31T10:00:00Z', 24],
  // The clocks change at midnight: the next day begins at 01:00, or the day has two last hours.
  ['America/Santiago', '2026-09-05', '2026-09-05T04:00:00Z', 24],
  ['America/Santiago', '2027-04-03', '2027-04-03T03:00:00Z', 25],
  ['America/Havana', '2027-03-13', '2027-03-13T05:00:00Z', 24],
])('midnight in %s on %s is %s hours after the day began', (timeZone, day, start, hours) => {
  expect(untilMidnight(day, timeZone, Date.parse(start))).toBe(hours * 3_600_000);
  expect(untilMidnight(day, timeZone, Date.parse(start) + 30 * 3_600_000)).toBe(0);
});
