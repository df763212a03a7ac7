import type { Series } from './load.ts';
import { type Spread, spread } from './statistics.ts';

/** The name of what everything is compared with. */
export const FLOOR = 'floor chain';

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
  { of: warm, to: FLOOR, measure: 'perSecond', atLeast: 1.4 },
  { of: warm, to: FLOOR, measure: 'cpu', atMost: 0.75 },
  { of: cold, to: FLOOR, measure: 'perSecond', atLeast: 1 },
  { of: cold, to: FLOOR, measure: 'cpu', atMost: 1 },
  { of: '401, unknown key', to: FLOOR, measure: 'perSecond', atLeast: 2.3 },
  { of: '429 by address, from the limiter', to: FLOOR, measure: 'perSecond', atLeast: 8 },
  { of: '429 by address, cached refusal', to: 'Hono, "hello"', measure: 'perSecond', atLeast: 0.7 },
  { of: `${warm}, 1M entries`, to: warm, measure: 'cpu', atMost: 1.15 },
  { of: `${warm}, 1M entries`, to: warm, measure: 'p50', atMost: 1.15 },
  { of: `${cold}, 1M entries`, to: cold, measure: 'cpu', atMost: 1.15 },
  { of: `${cold}, 1M entries`, to: cold, measure: 'p50', atMost: 1.15 },
];

export interface Verdict extends Target {
  reached: Spread;
  /** `within spread`: rounds lie on both sides of the bound. */
  verdict: 'met' | 'missed' | 'met, within the spread' | 'missed, within the spread';
}

/** The ratio of one scenario to another, taken in each round by itself. */
export function ratio(of: Series, to: Series, measure: Measure): Spread {
  return spread(of.slices.map((slice, round) => slice[measure] / (to.slices[round]?.[measure] ?? Number.NaN)));
}

/** Every target whose scenarios were measured, at 16 connections, against what was reached. */
export function evaluate(series: readonly Series[], connections: number): Verdict[] {
  const find = (scenario: string) => series.find((one) => one.name === scenario && one.connections === connections);
  return TARGETS.flatMap((target) => {
    const [of, to] = [find(target.of), find(target.to)];
    if (!of || !to) return [];
    const reached = ratio(of, to, target.measure);
    const keeps = (value: number) => value >= (target.atLeast ?? -Infinity) && value <= (target.atMost ?? Infinity);
    const met = keeps(reached.median) ? 'met' : 'missed';
    const clear = keeps(reached.min) === keeps(reached.max);
    return [{ ...target, reached, verdict: clear ? met : `${met}, within the spread` } satisfies Verdict];
  });
}
