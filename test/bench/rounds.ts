import { load, measure, type Series, type Slice } from './load.ts';
import type { Scenario } from './scenarios.ts';
import type { Workers } from './workers.ts';

const WARM_UP = { ms: 2_000, requests: 150 };
/** Of a slice in the round that is not counted. */
const SETTLING_MS = 250;

interface Plan {
  rounds: number;
  sliceMs: number;
  connections: number[];
}

/**
 * Runs all scenarios in every round, each time in another order, so that whatever disturbs the
 * machine disturbs all of them alike. The first round is not counted: it is there to let the
 * just-in-time compiler settle.
 */
export async function runRounds(
  workers: Workers,
  scenarios: readonly Scenario[],
  { rounds, sliceMs, connections }: Plan,
): Promise<Series[]> {
  const series = connections.flatMap((count) =>
    scenarios.map(({ name }): Series => ({ name, connections: count, slices: [] })),
  );
  for (let round = 0; round <= rounds; round++) {
    for (const count of connections) {
      for (const scenario of shuffled(scenarios)) {
        const slice = await runSlice(workers, scenario, count, round === 0 ? SETTLING_MS : sliceMs);
        if (round > 0)
          series.find(({ name, connections }) => name === scenario.name && connections === count)?.slices.push(slice);
      }
    }
    console.error(round === 0 ? 'warmed up' : `round ${round} of ${rounds}`);
  }
  return series;
}

async function runSlice(workers: Workers, scenario: Scenario, connections: number, ms: number): Promise<Slice> {
  const { name, worker, status, requests, warmUp, maxRequests = Infinity } = scenario;
  const origin = await workers.origin(worker);
  try {
    if (warmUp) await warmUp(origin);
    else await load(origin, connections, requests, status, WARM_UP);
    return await measure(origin, connections, requests, status, { ms, requests: maxRequests });
  } catch (err) {
    throw new Error(`${name}, ${connections} connections`, { cause: err });
  }
}

export function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}
