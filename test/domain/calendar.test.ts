import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addDays, dateIn, daysBetween, isTimeZone, startOfDate } from '../../src/domain/calendar.ts';
import { runs } from '../support/property.ts';

describe('the date', () => {
  test.each([
    ['America/New_York', '2026-11-21T04:59:59.999Z', '2026-11-20'],
    ['America/New_York', '2026-11-21T05:00:00.000Z', '2026-11-21'],
    ['Asia/Tokyo', '2026-11-20T14:59:59.999Z', '2026-11-20'],
    ['Asia/Tokyo', '2026-11-20T15:00:00.000Z', '2026-11-21'],
    ['UTC', '2026-11-20T23:59:59.999Z', '2026-11-20'],
    ['UTC', '2026-11-21T00:00:00.000Z', '2026-11-21'],
    // New York puts its clocks forward on 8 March 2026 and back on 1 November 2026.
    ['America/New_York', '2026-03-08T04:59:59.999Z', '2026-03-07'],
    ['America/New_York', '2026-03-09T03:59:59.999Z', '2026-03-08'],
    ['America/New_York', '2026-03-09T04:00:00.000Z', '2026-03-09'],
    ['America/New_York', '2026-11-01T03:59:59.999Z', '2026-10-31'],
    ['America/New_York', '2026-11-02T04:59:59.999Z', '2026-11-01'],
    ['America/New_York', '2026-11-02T05:00:00.000Z', '2026-11-02'],
  ])('the date in %s at %s is %s', (timeZone, instant, date) => {
    expect(dateIn(timeZone, Date.parse(instant))).toBe(date);
  });
});

test('the date at any instants, in any order, agrees with Intl', () => {
  const zones = ['UTC', 'America/New_York', 'Asia/Kathmandu', 'America/Havana', 'Pacific/Apia', 'Australia/Lord_Howe'];
  const instant = fc.date({ min: new Date('2026-01-01'), max: new Date('2028-01-01'), noInvalidDate: true });
  // Instants close to each other, because the latest date is kept.
  const step = fc.record({ zone: fc.constantFrom(...zones), ms: fc.integer({ min: -90_000, max: 90_000 }) });
  fc.assert(
    fc.property(instant, fc.array(step, { maxLength: 20 }), (start, steps) => {
      let now = start.getTime();
      for (const { zone, ms } of steps) {
        now += ms;
        expect(dateIn(zone, now)).toBe(new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(now));
      }
    }),
    { numRuns: runs('dates in time zones', 200) },
  );
});

test('an unknown time zone throws a RangeError', () => {
  for (const zone of ['Mars/Olympus', '']) expect(() => dateIn(zone, Date.now())).toThrow(RangeError);
});

test.each([
  ['UTC', '2027-03-14', '2027-03-14T00:00:00Z'],
  ['America/New_York', '2027-03-15', '2027-03-15T04:00:00Z'],
  ['America/New_York', '2027-03-14', '2027-03-14T05:00:00Z'],
  ['Asia/Tokyo', '2027-01-01', '2026-12-31T15:00:00Z'],
])('the day in %s, %s, begins at %s', (timeZone, date, instant) => {
  expect(startOfDate(date, timeZone)).toBe(Date.parse(instant));
});

test('days are added across the ends of months and years', () => {
  expect([addDays('2027-12-31', 1), addDays('2028-02-28', 1), addDays('2027-03-01', -1)]).toEqual([
    '2028-01-01',
    '2028-02-29',
    '2027-02-28',
  ]);
});

test('only an IANA name is a time zone', () => {
  expect(isTimeZone('Europe/Berlin')).toBe(true);
  expect(isTimeZone('Mars/Olympus')).toBe(false);
  expect(isTimeZone('-00:30')).toBe(false);
  expect(isTimeZone('')).toBe(false);
});

test('days between dates do not depend on daylight saving time', () => {
  expect([daysBetween('2027-03-13', '2027-03-15'), daysBetween('2027-01-01', '2026-12-31')]).toEqual([2, -1]);
});
