import type { Series } from './rounds.ts';
import { type Spread, spread } from './statistics.ts';
import { FLOOR, ratio, type Verdict } from './targets.ts';
import type { CauseTiming } from './unauthorized-timing.ts';

const MEASURES = { perSecond: 'requests/s', cpu: 'CPU per request', p50: 'p50' } as const;

/** The series at one number of connections, as a Markdown table; medians over the rounds, with the extremes in brackets. */
export function seriesTable(series: readonly Series[], connections: number): string {
  const chosen = series.filter((one) => one.connections === connections);
  const floor = chosen.find(({ name }) => name === FLOOR);
  if (!floor) throw new Error('the floor was not measured');
  return table(
    [
      `${connections} connection${connections === 1 ? '' : 's'}`,
      'requests/s',
      '× floor',
      'p50 ms',
      'CPU ms/request',
      'CPU × floor',
    ],
    chosen.map((one) => [
      one.name,
      show(spread(one.slices.map(({ perSecond }) => perSecond)), (value) => Math.round(value).toLocaleString('en')),
      show(ratio(one, floor, 'perSecond')),
      show(spread(one.slices.map(({ p50 }) => p50))),
      show(spread(one.slices.map(({ cpu }) => cpu))),
      show(ratio(one, floor, 'cpu')),
    ]),
  );
}

export function targetTable(verdicts: readonly Verdict[]): string {
  return table(
    ['target', 'reached', ''],
    verdicts.map(({ of, to, measure, atLeast, atMost, reached, verdict }) => [
      `${of} : ${to}, ${MEASURES[measure]} ${atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`}`,
      show(reached),
      verdict,
    ]),
  );
}

export function timingTable(timings: readonly CauseTiming[]): string {
  return table(
    ['401 because the key is', 'samples', 'median ms', "Cliff's δ to unknown"],
    timings.map(({ cause, samples, median, cliffsDelta }) => [
      cause,
      String(samples),
      median.toFixed(3),
      cliffsDelta.toFixed(3),
    ]),
  );
}

function show({ median, min, max }: Spread, format: (value: number) => string = threeDigits): string {
  return `${format(median)} (${format(min)}–${format(max)})`;
}

function threeDigits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map((_, column) => (column === 0 ? '---|' : '--:|')).join('')}`, ...rows.map(line)].join(
    '\n',
  );
}
