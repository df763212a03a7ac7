import fc from 'fast-check';
import { inject } from 'vitest';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Whether this is `npm run test:long`. */
    long: boolean;
    /** How many times as long property tests run: `PROPERTY_RUNS=20 npm test`. */
    propertyRuns: number;
  }
}

// `npm test` repeats the same sequences each time: it fails because of a change, not by chance. Longer
// runs search for new ones.
if (!inject('long') && inject('propertyRuns') === 1) fc.configureGlobal({ seed: 1 });

/** The value for `npm run test:long`, or the one for `npm test`. */
export const inLongRuns = <Value>(long: Value, short: Value): Value => (inject('long') ? long : short);

/** The number of runs of a property test: the usual number times PROPERTY_RUNS. Prints it. */
export function runs(property: string, usual: number): number {
  const times = inject('propertyRuns');
  if (!Number.isInteger(times) || times < 1) throw new Error('PROPERTY_RUNS takes a whole number from 1 on');
  console.log(`${property}: ${usual * times} runs`);
  return usual * times;
}
