import { Connection } from './connection.ts';
import { workerdMs } from './processor-time.ts';
import { median } from './statistics.ts';

/** The measurements of one scenario in one round. */
export interface Slice {
  perSecond: number;
  /** Milliseconds from sending a request to its complete response. */
  p50: number;
  /** Milliseconds of processor time, user and system, per request. */
  cpu: number;
}

/** The calls of Durable Objects and D1 for one request, and the rows of D1. */
export interface Cost {
  calls: number;
  read: number;
  written: number;
}

/** The slices of one scenario: one of each round, in order. */
export interface Series {
  name: string;
  cost?: Cost | undefined;
  slices: Slice[];
}

/** The ratio of one scenario to another in each round. */
export function ratios(of: Series, to: Series, measure: 'perSecond' | 'cpu'): number[] {
  return of.slices.map((slice, round) => slice[measure] / (to.slices[round]?.[measure] ?? Number.NaN));
}

/** The bytes of a request, by its number in its slice. */
export type Requests = (number: number) => string;

interface Bounds {
  ms: number;
  requests: number;
}

/**
 * Sends requests over some connections, each the next one after a response, until one of the bounds
 * is reached.
 * @throws Error at the first response with another status
 */
export async function load(
  origin: URL,
  connections: number,
  requests: Requests,
  status: number,
  bounds: Bounds,
): Promise<{ latencies: number[]; ms: number }> {
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(origin)));
  const latencies: number[] = [];
  const start = performance.now();
  let sent = 0;
  const work = async (connection: Connection) => {
    while (sent < bounds.requests && performance.now() - start < bounds.ms) {
      const begun = performance.now();
      const answer = await connection.send(requests(sent++));
      latencies.push(performance.now() - begun);
      if (answer.status !== status)
        throw new Error(`${origin} answered ${answer.status} instead of ${status}: ${answer.body.slice(0, 300)}`);
    }
  };
  try {
    await Promise.all(open.map(work));
    return { latencies, ms: performance.now() - start };
  } finally {
    for (const connection of open) connection.close();
  }
}

/** Does the same, and measures it. */
export async function measure(...args: Parameters<typeof load>): Promise<Slice> {
  const before = await workerdMs();
  const { latencies, ms } = await load(...args);
  const cpu = (await workerdMs()) - before;
  return {
    perSecond: (latencies.length / ms) * 1000,
    p50: median(latencies),
    cpu: cpu / latencies.length,
  };
}
