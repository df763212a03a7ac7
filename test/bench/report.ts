import { type Cost, ratios, type Series, type Slice } from './load.ts';
import type { Plan } from './rounds.ts';
import { RATIOS, type Ratio } from './scenarios.ts';
import { interval, median, spread, type Target, verdict } from './statistics.ts';
import type { CauseTiming } from './unauthorized-timing.ts';

/** One run of the benchmark: the machine, the plan, and what was measured. */
interface Run {
  /** YYYY-MM-DD. */
  date: string;
  processor: string;
  versions: { node: string; workerd: string };
  loadBefore: number;
  plan: Plan;
  seconds: number;
  /** What a reader of the figures should know, from `--note`. */
  note?: string | undefined;
  series: readonly Series[];
  timings: readonly CauseTiming[];
}

/** The whole of RESULTS.md. */
export function renderResults({ plan, versions, series, timings, note, ...run }: Run): string {
  const facts = [
    `Processor: ${run.processor}`,
    `Node.js ${versions.node}, workerd ${versions.workerd}`,
    `Load average before the start: ${run.loadBefore.toFixed(1)}`,
    `Rounds: ${plan.rounds}, interleaved, ${plan.sliceMs} ms for each scenario, ${plan.connections} connections`,
    `Duration: ${run.seconds} s`,
    ...(note === undefined ? [] : [`Note: ${note}`]),
  ];
  const parts = [
    '# Benchmark results',
    'Written by `npm run bench`: do not edit. [How to read it](README.md#the-benchmark).',
    `Run of ${run.date}:`,
    facts.map((fact) => `- ${fact}`).join('\n'),
    '## Scenarios',
    'The median of the rounds, with the lowest and the highest in brackets.',
    table(['scenario', 'requests/s', 'p50 ms', 'CPU ms/request'], series.map(seriesRow)),
    '## Ratios',
    'The median of the ratios within a round, with its 95% interval in square brackets, and its target.',
    table(
      ['ratio', 'requests/s', 'CPU/request'],
      RATIOS.map((ratio) => ratioRow(series, ratio)),
    ),
    '## Costs of a request',
    table(
      ['request', 'calls', 'rows read', 'rows written', 'CPU ms'],
      series.flatMap(({ name, cost, slices }) => (cost ? [costRow(name, cost, slices)] : [])),
    ),
    '## Response time of the 401',
    table(
      ['cause', 'samples', 'median ms', "Cliff's δ to unknown"],
      timings.map(({ cause, samples, median, cliffsDelta }) => [
        cause,
        integer(samples),
        median.toFixed(3),
        cliffsDelta.toFixed(3),
      ]),
    ),
  ];
  return `${parts.join('\n\n')}\n`;
}

function seriesRow({ name, slices }: Series): string[] {
  const show = (values: number[], format = threeDigits) => {
    const { median, min, max } = spread(values);
    return `${format(median)} (${format(min)}–${format(max)})`;
  };
  return [
    name,
    show(
      slices.map(({ perSecond }) => perSecond),
      integer,
    ),
    show(slices.map(({ p50 }) => p50)),
    show(slices.map(({ cpu }) => cpu)),
  ];
}

function ratioRow(series: readonly Series[], { of, to, perSecond, cpu }: Ratio): string[] {
  const [first, second] = [of, to].map((name) => series.find((one) => one.name === name));
  if (!first || !second) throw new Error(`${of} or ${to} was not measured`);
  const show = (measure: 'perSecond' | 'cpu', target: Target | undefined) => {
    const { median, low, high } = interval(ratios(first, second, measure));
    const shown = `${threeDigits(median)} [${threeDigits(low)}, ${threeDigits(high)}]`;
    return target ? `${shown}; ${target.rule} ${target.bound}: ${verdict({ low, high }, target)}` : shown;
  };
  return [`${of} : ${to}`, show('perSecond', perSecond), show('cpu', cpu)];
}

function costRow(name: string, { calls, read, written }: Cost, slices: readonly Slice[]): string[] {
  return [name, ...[calls, read, written].map(integer), threeDigits(median(slices.map(({ cpu }) => cpu)))];
}

function threeDigits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** A whole number with a comma every three digits. */
const integer = (value: number) => Math.round(value).toLocaleString('en');

/** A table in Markdown, whose first column is aligned to the left. */
function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map((_, column) => (column === 0 ? '---|' : '--:|')).join('')}`, ...rows.map(line)].join(
    '\n',
  );
}
