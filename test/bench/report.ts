import type { Series } from './load.ts';
import { type Interval, interval, type Spread, spread } from './statistics.ts';
import { FLOOR, ratios, type Verdict } from './targets.ts';
import type { CauseTiming } from './unauthorized-timing.ts';

const MEASURES = { perSecond: 'requests/s', cpu: 'CPU per request', p50: 'p50' } as const;

/** One run of the benchmark: the machine, the plan, and what was measured. */
export interface Run {
  /** YYYY-MM-DD. */
  date: string;
  processor: string;
  versions: { node: string; workerd: string };
  loadBefore: number;
  rounds: number;
  sliceMs: number;
  large: { entries: number; keys: number; bytes: number };
  seconds: number;
  /** What a reader of the figures should know, from `--note`. */
  note?: string | undefined;
  /** The number of connections that the targets are set for; its table comes first. */
  loaded: number;
  series: readonly Series[];
  verdicts: readonly Verdict[];
  timings: readonly CauseTiming[];
}

/** The whole of RESULTS.md. */
export function renderResults(run: Run): string {
  const { versions, large, loaded, note } = run;
  const facts = [
    `Processor: ${run.processor}`,
    `Node.js ${versions.node}, workerd ${versions.workerd}`,
    `Load average before the start: ${run.loadBefore.toFixed(1)}`,
    `Rounds: ${run.rounds}, interleaved, up to ${run.sliceMs} ms for each scenario`,
    `Large database: ${integer(large.entries)} time entries, about ${integer(large.keys)} keys, ${Math.round(large.bytes / 1e6)} MB`,
    `Duration: ${run.seconds} s`,
    ...(note === undefined ? [] : [`Note: ${note}`]),
  ];
  const connections = [...new Set(run.series.map((one) => one.connections))].sort((a, b) => b - a);
  const parts = [
    '# Benchmark results',
    'Written by `npm run bench`: do not edit. [How to read it](README.md#the-benchmark).',
    `Run of ${run.date}:`,
    facts.map((fact) => `- ${fact}`).join('\n'),
    'The tables of connections show the median of the rounds, with the lowest and the highest in brackets. The table of targets shows the median ratio, with its 95% interval in square brackets.',
    ...connections.flatMap((count) => [
      `## ${count} connection${count === 1 ? '' : 's'}`,
      seriesTable(run.series, count),
    ]),
    `## Targets at ${loaded} connections`,
    targetTable(run.verdicts),
    '## Response time of the 401',
    timingTable(run.timings),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** The ratios of two series that ran in turn. */
export function renderPair([of, to]: readonly Series[]): string {
  if (!of || !to) throw new Error('a pair is two series');
  return (['perSecond', 'cpu'] as const)
    .map((measure) => {
      const rounds = ratios(of, to, measure);
      const name = `${of.name} : ${to.name}, ${MEASURES[measure]}`;
      return `${name}: ${showInterval(interval(rounds))}\nin each round: ${rounds.map(threeDigits).join(' ')}`;
    })
    .join('\n\n');
}

/** The series at one number of connections, as a Markdown table. */
function seriesTable(series: readonly Series[], connections: number): string {
  const chosen = series.filter((one) => one.connections === connections);
  const floor = chosen.find(({ name }) => name === FLOOR);
  if (!floor) throw new Error('the floor was not measured');
  return table(
    ['scenario', 'requests/s', '× floor', 'p50 ms', 'CPU ms/request', 'CPU × floor'],
    chosen.map((one) => [
      one.name,
      show(spread(one.slices.map(({ perSecond }) => perSecond)), integer),
      show(spread(ratios(one, floor, 'perSecond'))),
      show(spread(one.slices.map(({ p50 }) => p50))),
      show(spread(one.slices.map(({ cpu }) => cpu))),
      show(spread(ratios(one, floor, 'cpu'))),
    ]),
  );
}

function targetTable(verdicts: readonly Verdict[]): string {
  return table(
    ['target', 'measured', 'result'],
    verdicts.map(({ of, to, measure, atLeast, atMost, reached, verdict }) => [
      `${of} : ${to}, ${MEASURES[measure]} ${atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`}`,
      showInterval(reached),
      verdict,
    ]),
  );
}

function timingTable(timings: readonly CauseTiming[]): string {
  return table(
    ['cause', 'samples', 'median ms', "Cliff's δ to unknown"],
    timings.map(({ cause, samples, median, cliffsDelta }) => [
      cause,
      integer(samples),
      median.toFixed(3),
      cliffsDelta.toFixed(3),
    ]),
  );
}

function show({ median, min, max }: Spread, format: (value: number) => string = threeDigits): string {
  return `${format(median)} (${format(min)}–${format(max)})`;
}

/** A median with its 95% interval. */
function showInterval({ median, low, high }: Interval): string {
  return `${threeDigits(median)} [${threeDigits(low)}, ${threeDigits(high)}]`;
}

function threeDigits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** A whole number with a comma every three digits. */
function integer(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** A table in Markdown, whose first column is aligned to the left. */
function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map((_, column) => (column === 0 ? '---|' : '--:|')).join('')}`, ...rows.map(line)].join(
    '\n',
  );
}
