import { inject } from 'vitest';

declare module 'vitest' {
  export interface ProvidedContext {
    /** How many times as long property tests run: `PROPERTY_RUNS=20 npm test`. */
    propertyRuns: number;
  }
}

/** Runs of a property test: as many as given, times PROPERTY_RUNS; says how many. */
export function runs(property: string, usual: number): number {
  const times = inject('propertyRuns');
  if (!Number.isInteger(times) || times < 1) throw new Error('PROPERTY_RUNS takes a whole number from 1 on');
  console.log(`${property}: ${usual * times} runs`);
  return usual * times;
}
