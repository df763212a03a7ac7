import type { Series } from './load.ts';
import { type Interval, interval } from './statistics.ts';

/** The names of what others are compared with. */
export const FLOOR = 'floor chain';
export const LEAST = 'least chain, known key';

type Measure = 'perSecond' | 'cpu' | 'p50';

/** A ratio within one run, and the bound that it is to keep. */
interface Target {
  of: string;
  to: string;
  measure: Measure;
  atLeast?: number;
  atMost?: number;
}

const warm = 'time entry, cached key';
const cold = 'time entry, uncached key';

const TARGETS: Target[] = [
  { of: warm, to: LEAST, measure: 'perSecond', atLeast: 0.93 },
  { of: warm, to: LEAST, measure: 'cpu', atMost: 1.1 },
  { of: cold, to: FLOOR, measure: 'perSecond', atLeast: 0.9 },
  { of: `${warm}, 1M entries`, to: warm, measure: 'cpu', atMost: 1.15 },
  { of: '429 by address, from the limiter', to: FLOOR, measure: 'perSecond', atLeast: 8 },
  { of: '429 by address, cached refusal', to: 'Hono, "hello"', measure: 'perSecond', atLeast: 0.55 },
];

export interface Verdict extends Target {
  reached: Interval;
  /** `not decided`: the interval contains the bound. */
  verdict: 'met' | 'missed' | 'not decided';
}

/** The ratio of one scenario to another in each round. */
export function ratios(of: Series, to: Series, measure: Measure): number[] {
  return of.slices.map((slice, round) => slice[measure] / (to.slices[round]?.[measure] ?? Number.NaN));
}

/** Every target whose scenarios were measured, at this number of connections, against what was reached. */
export function evaluate(series: readonly Series[], connections: number): Verdict[] {
  const find = (scenario: string) => series.find((one) => one.name === scenario && one.connections === connections);
  return TARGETS.flatMap((target) => {
    const [of, to] = [find(target.of), find(target.to)];
    if (!of || !to) return [];
    const reached = interval(ratios(of, to, target.measure));
    const keeps = (value: number) => value >= (target.atLeast ?? -Infinity) && value <= (target.atMost ?? Infinity);
    const met = keeps(reached.median) ? 'met' : 'missed';
    return [{ ...target, reached, verdict: keeps(reached.low) === keeps(reached.high) ? met : 'not decided' }];
  });
}
