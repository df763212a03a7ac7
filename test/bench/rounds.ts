import { load, measure, type Series, type Slice } from './load.ts';
import type { Scenario } from './scenarios.ts';
import type { Workers } from './workers.ts';

const WARM_UP = { ms: 2_000, requests: 150 };
/** The length of a slice in the round that is not counted. */
const SETTLING_MS = 250;

export interface Plan {
  rounds: number;
  sliceMs: number;
  connections: number;
}

/**
 * Runs all scenarios in every round, each time in another order, so that whatever disturbs the
 * machine disturbs all of them alike. The first round is not counted: it lets the just-in-time
 * compiler settle.
 */
export async function runRounds(
  workers: Workers,
  scenarios: readonly Scenario[],
  { rounds, sliceMs, connections }: Plan,
): Promise<Series[]> {
  const series = scenarios.map((scenario) => ({ scenario, slices: [] as Slice[] }));
  for (let round = 0; round <= rounds; round++) {
    for (const { scenario, slices } of shuffled(series)) {
      const slice = await runSlice(workers, scenario, connections, round === 0 ? SETTLING_MS : sliceMs);
      if (round > 0) slices.push(slice);
    }
    console.error(round === 0 ? 'warmed up' : `round ${round} of ${rounds}`);
  }
  return series.map(({ scenario: { name, cost }, slices }) => ({ name, cost, slices }));
}

async function runSlice(workers: Workers, scenario: Scenario, connections: number, ms: number): Promise<Slice> {
  const { name, worker, status, requests, warmUp } = scenario;
  const origin = await workers.origin(worker);
  try {
    if (warmUp) await warmUp(origin);
    else await load(origin, connections, requests, status, WARM_UP);
    return await measure(origin, connections, requests, status, { ms, requests: Infinity });
  } catch (err) {
    throw new Error(name, { cause: err });
  }
}

export function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
