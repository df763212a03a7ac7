import { expect, test } from 'vitest';
import type { Series, Slice } from './load.ts';
import { cliffsDelta, median, spread } from './statistics.ts';
import { evaluate } from './targets.ts';

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

test('ratios are computed within a round, and the report marks a target whose rounds lie on both sides of its bound', () => {
  const series = (name: string, perSecond: number[]): Series => ({
    name,
    connections: 16,
    slices: perSecond.map((value): Slice => ({ requests: 1, perSecond: value, p50: 1, cpu: 1 })),
  });
  const verdicts = (warm: number[]) =>
    evaluate([series('floor chain', [100, 200, 400]), series('time entry, cached key', warm)], 16).filter(
      ({ measure }) => measure === 'perSecond',
    );
  expect(verdicts([150, 300, 640])).toMatchObject([{ reached: { median: 1.5, min: 1.5, max: 1.6 }, verdict: 'met' }]);
  expect(verdicts([150, 300, 400])).toMatchObject([{ verdict: 'met, within the spread' }]);
  expect(verdicts([120, 260, 640])).toMatchObject([{ verdict: 'missed, within the spread' }]);
  expect(verdicts([100, 200, 400])).toMatchObject([{ verdict: 'missed' }]);
});
