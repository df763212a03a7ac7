import * as z from 'zod/mini';
import { ruleError } from './fields.ts';

/** 100,000.00 per hour. */
export const MAX_HOURLY_RATE_MINOR = 10_000_000;

/** Converts minor units to the number with at most two decimals that the API shows. */
export function fromMinorUnits(minor: number): number {
  return minor / 100;
}

/** Parses an hourly rate (a number with at most two decimals) to minor units. */
export function hourlyRate() {
  const error = ruleError('a number from 0 to 100000 with at most two decimals');
  const rate = z.number({ error }).check(
    z.minimum(0, { error }),
    z.maximum(fromMinorUnits(MAX_HOURLY_RATE_MINOR), { error }),
    z.refine((rate) => Number(rate.toFixed(2)) === rate, { error }),
  );
  return z.pipe(
    rate,
    z.transform((rate) => Math.round(rate * 100)),
  );
}
