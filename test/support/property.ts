import { env } from 'cloudflare:workers';

/** Runs of a property test: as many as given, times PROPERTY_RUNS; says how many. */
export function runs(property: string, usual: number): number {
  const numRuns = usual * Number(env.PROPERTY_RUNS);
  console.log(`${property}: ${numRuns} runs`);
  return numRuns;
}
