import { expect, test } from 'vitest';
import { isLongDay, unusualOf } from '../../src/domain/unusual.ts';

test.each([
  ['the median of an odd number of days', 601, [150, 100, 150, 9_000, 150], true],
  ['exactly four times the median', 600, [150, 100, 150, 9_000, 150], false],
  ['the mean of the two middle days of an even number', 701, [100, 150, 200, 9_000, 100, 200], true],
  ['four times that mean', 700, [100, 150, 200, 9_000, 100, 200], false],
  ['four times the median, but fewer than 600 minutes', 599, [1, 1, 1, 1, 1], false],
  ['600 minutes', 600, [1, 1, 1, 1, 1], true],
  ['only four days before', 1_000, [1, 1, 1, 1], false],
  [
    'only the latest 30 days',
    600,
    [...Array.from({ length: 30 }, () => 150), ...Array.from({ length: 40 }, () => 1)],
    false,
  ],
])('a day is compared with %s', (_, minutes, before, isUnusual) => {
  expect(isLongDay(minutes, before)).toBe(isUnusual);
});

test('an entry of 8 hours is usual, and one above is not', () => {
  const entry = { isLongDay: false, isRepeated: 0, hasTechnicianLeft: 0 };
  expect(unusualOf({ ...entry, minutes: 480 })).toEqual([]);
  expect(unusualOf({ ...entry, minutes: 481 })).toEqual(['more than 8 hours']);
});
