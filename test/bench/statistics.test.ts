import { expect, test } from 'vitest';
import type { Series, Slice } from './load.ts';
import { cliffsDelta, interval, median, spread } from './statistics.ts';
import { evaluate, LEAST } from './targets.ts';

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

test('ratios are computed within a round, and a target whose bound lies in the interval is not decided', () => {
  const series = (name: string, perSecond: number[]): Series => ({
    name,
    connections: 16,
    slices: perSecond.map((value): Slice => ({ requests: 1, perSecond: value, p50: 1, cpu: 1 })),
  });
  const least = [100, 200, 400, 100, 200, 400, 100];
  const verdicts = (ratios: number[]) =>
    evaluate(
      [
        series(LEAST, least),
        series(
          'time entry, cached key',
          least.map((value, i) => value * (ratios[i] ?? 0)),
        ),
      ],
      16,
    ).filter(({ measure }) => measure === 'perSecond');
  expect(verdicts([1, 1.5, 2, 1, 1, 1, 2])).toMatchObject([
    { reached: { median: 1, low: 1, high: 2 }, verdict: 'met' },
  ]);
  expect(verdicts([0.9, 1, 1, 1, 1, 1, 1])).toMatchObject([{ verdict: 'not decided' }]);
  expect(verdicts([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.9])).toMatchObject([{ verdict: 'missed' }]);
});
