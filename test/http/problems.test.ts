import { expect, test } from 'vitest';
import { retryAfter503 } from '../../src/http/problems.ts';

test('the Retry-After of a 503 takes each whole number from 4 to 8, equally often', () => {
  const values = Array.from({ length: 100 }, (_, index) => retryAfter503(() => index / 100)['Retry-After']);
  const counts = Map.groupBy(values, (value) => value);
  expect(Array.from(counts, ([value, { length }]) => [value, length])).toEqual(
    [4, 5, 6, 7, 8].map((s) => [`${s}`, 20]),
  );
});
