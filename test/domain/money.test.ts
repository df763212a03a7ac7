import { describe, expect, test } from 'vitest';
import { fromMinorUnits, hourlyRate } from '../../src/domain/money.ts';

describe('an hourly rate', () => {
  test('an hourly rate has at most two decimals, and becomes minor units', () => {
    expect(hourlyRate().parse(95.5)).toBe(9_550);
    expect(hourlyRate().parse(1.15)).toBe(115);
    expect(hourlyRate().parse(0)).toBe(0);
    for (const wrong of [95.505, -1, 100_000.01, Number.NaN, '95'])
      expect(hourlyRate().safeParse(wrong).success).toBe(false);
  });

  test('an hourly rate is unchanged after storage, for every amount of minor units', () => {
    const rate = hourlyRate();
    const wrong = Array.from({ length: 100_000 }, (_, minor) => minor).filter(
      (minor) =>
        rate.parse(fromMinorUnits(minor)) !== minor || !/^\d+(\.\d{1,2})?$/.test(JSON.stringify(fromMinorUnits(minor))),
    );
    expect(wrong).toEqual([]);
  });
});
