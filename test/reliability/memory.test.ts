import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../support/property.ts';
import { growth } from './memory.ts';

const samples = (count: number, at: (index: number) => number) =>
  Array.from({ length: count }, (_, index) => at(index));

describe('the growth of memory', () => {
  test('a rise at first, and then ups and downs with the garbage collector, is no growth', () => {
    const sawtooth = samples(600, (second) => 200 + Math.min(second, 200) + (second % 17) * 4);
    expect(growth(sawtooth)).toMatchObject({ flat: true });
  });

  test('a leak is found, and so is a rise in one step near the end', () => {
    expect(growth(samples(600, (second) => 300 + second / 10 + (second % 17) * 4))).toMatchObject({ flat: false });
    expect(growth(samples(600, (second) => (second < 460 ? 300 : 330)))).toMatchObject({ flat: false });
  });

  test('a straight line grows by its rise, however steep it is', () => {
    const line = fc.record({
      from: fc.integer({ min: 1, max: 1000 }),
      by: fc.integer({ min: -50, max: 50 }),
      half: fc.integer({ min: 4, max: 300 }),
    });
    fc.assert(
      fc.property(line, ({ from, by, half }) => {
        expect(growth(samples(2 * half, (index) => from + by * index)).rise).toBeCloseTo(by * (half - 1), 6);
      }),
      { numRuns: runs('the rise of a line', 100) },
    );
  });
});
