import { expect, test } from 'vitest';
import { ratios, type Series, type Slice } from './load.ts';
import { cliffsDelta, interval, median, spread, verdict } from './statistics.ts';

test('the median is in the middle, or halfway between the two middle values', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(spread([2, 9, 4])).toEqual({ median: 4, min: 2, max: 9 });
});

test("Cliff's delta agrees with a comparison of every pair", () => {
  const compared = (a: number[], b: number[]) =>
    a.flatMap((x) => b.map((y) => Math.sign(x - y))).reduce((sum, sign) => sum + sign, 0) / (a.length * b.length);
  for (const [a, b] of [
    [
      [1, 2, 3],
      [4, 5],
    ],
    [
      [4, 5],
      [1, 2, 3],
    ],
    [
      [1, 2, 2, 3],
      [2, 2, 4, 1],
    ],
    [[7], [7]],
  ] satisfies [number[], number[]][]) {
    expect(cliffsDelta(a, b)).toBe(compared(a, b));
  }
});

test('the interval of a median leaves out as many values on each side as 95% allow', () => {
  const upTo = (n: number) => Array.from({ length: n }, (_, i) => n - i);
  expect(interval(upTo(5))).toEqual({ median: 3, low: -Infinity, high: Infinity });
  expect(interval(upTo(7))).toEqual({ median: 4, low: 1, high: 7 });
  expect(interval(upTo(21))).toEqual({ median: 11, low: 6, high: 16 });
});

test('a target is decided if the whole interval is on one side of it', () => {
  const atLeast = { rule: 'at least', bound: 0.9 } as const;
  const atMost = { rule: 'at most', bound: 1.1 } as const;
  expect(verdict({ low: 0.91, high: 1.2 }, atLeast)).toBe('met');
  expect(verdict({ low: 0.5, high: 0.89 }, atLeast)).toBe('missed');
  expect(verdict({ low: 0.89, high: 0.91 }, atLeast)).toBe('not decided');
  expect(verdict({ low: 0.5, high: 1.09 }, atMost)).toBe('met');
  expect(verdict({ low: 1.11, high: 2 }, atMost)).toBe('missed');
  expect(verdict({ low: -Infinity, high: Infinity }, atMost)).toBe('not decided');
});

test('ratios are computed within a round', () => {
  const series = (perSecond: number[]): Series => ({
    name: '',
    slices: perSecond.map((value): Slice => ({ perSecond: value, p50: 1, cpu: 1 })),
  });
  expect(ratios(series([100, 200, 90]), series([100, 400, 30]), 'perSecond')).toEqual([1, 0.5, 3]);
});
