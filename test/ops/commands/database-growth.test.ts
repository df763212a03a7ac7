import { expect, test } from 'vitest';
import { coveredDays, fullDate, growthSince } from '../../../src/ops/database-growth.ts';

const NOON = Date.parse('2026-11-30T12:00:00Z');
const GB = 1_000_000_000;
/** 4 GB for 1 GB of text, of which 300 MB are of the last 30 days: 40 MB a day. */
const GROWING = { size: 4 * GB, limit: 10 * GB, text: 1 * GB, recent: 0.3 * GB, days: 30 };

test('the growth counts the last 30 days, including today', () => {
  expect(growthSince(NOON)).toBe('2026-11-01');
});

test.each([
  ['2026-06-01', 29.5],
  ['2026-11-01', 29.5],
  ['2026-11-29', 1.5],
  ['2026-11-30', 1],
  // Already tomorrow in the zone of the organization.
  ['2026-12-01', 1],
])('a ledger from %s covers %d of these days', (firstDay, days) => {
  expect(coveredDays(firstDay, NOON)).toBe(days);
});

test.each([
  ['150 days from now', {}, '2027-04-29'],
  ['earlier if the database has more bytes for each byte of text', { size: 8 * GB }, '2026-12-25'],
  ['later if the limit is higher', { limit: 20 * GB }, '2028-01-04'],
  ['today if less than a day is left', { size: 9.99 * GB }, '2026-11-30'],
])('the database is full %s', (_, change, date) => {
  expect(fullDate({ ...GROWING, ...change }, NOON)).toEqual({ status: 'on', date });
});

test.each([
  ['full', { size: 10 * GB }],
  ['full', { size: 10 * GB, recent: 0, days: 0 }],
  ['too_early', { days: 6.9 }],
  ['too_early', { text: 0, recent: 0, days: 0 }],
  ['not_growing', { recent: 0 }],
  ['not_for_a_century', { recent: 1 }],
])('no date exists if the database is %s: %j', (status, change) => {
  expect(fullDate({ ...GROWING, ...change }, NOON)).toEqual({ status });
});
