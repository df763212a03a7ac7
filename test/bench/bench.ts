// npm run bench: measures the production bundle against its floor and its peers, all in one workerd on loopback, and prints Markdown
// tables; they go to test-results/bench.md too, and every figure to bench.json. `-- --quick` is for working on the benchmark itself.
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seriesTable, targetTable, timingTable } from './report.ts';
import { runRounds } from './rounds.ts';
import { makeScenarios } from './scenarios.ts';
import { grow, prepare } from './seed.ts';
import { judge } from './targets.ts';
import { timeUnauthorized } from './unauthorized-timing.ts';
import { startWorkers } from './workers.ts';

process.env['WRANGLER_SEND_METRICS'] = 'false';

const OUTPUT = 'test-results/bench';
/** However it goes, the run ends. */
const TIME_LIMIT_MS = 12 * 60_000;
const CONNECTIONS = [1, 16];
/** The number of connections that the targets are set for. */
const LOADED = 16;

const { values: options } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const plan = options.quick
  ? { rounds: 2, sliceMs: 250, entries: 20_000, samples: 300 }
  : { rounds: 7, sliceMs: 800, entries: 1_000_000, samples: 4_000 };

// However it ends, nothing is left behind; Miniflare stops workerd by itself.
const directory = await mkdtemp(join(tmpdir(), 'twb-bench-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(130));
setTimeout(() => {
  console.error(`not finished after ${TIME_LIMIT_MS / 60_000} minutes`);
  process.exit(1);
}, TIME_LIMIT_MS).unref();

const startedAt = new Date();
const loadBefore = loadavg()[0] ?? 0;
const workers = await startWorkers(directory);
try {
  const [small, large] = [await workers.database('small'), await workers.database('large')];
  await prepare(small);
  await prepare(large);
  await grow(large, { keys: 8_800, entries: plan.entries });
  const { meta } = await large.prepare('select 1').run();
  const scenarios = await makeScenarios(workers);
  console.error(`ready after ${seconds()} s`);

  const series = await runRounds(workers, scenarios, { ...plan, connections: CONNECTIONS });
  const timings = await timeUnauthorized(workers, plan.samples);
  const verdicts = judge(series, LOADED);

  const machine = `${availableParallelism()} cores of ${cpus()[0]?.model.trim()}, Node ${process.version}`;
  const about = `${startedAt.toISOString().slice(0, 10)}, ${machine}, load ${loadBefore.toFixed(1)} before the start; ${plan.rounds} interleaved rounds of ${plan.sliceMs} ms, medians (min–max); large database: ${plan.entries.toLocaleString('en')} time entries, 10,000 keys, ${Math.round(meta.size_after / 1e6)} MB; ${seconds()} s in all`;
  const tables = [
    ...CONNECTIONS.toReversed().map((count) => seriesTable(series, count)),
    targetTable(verdicts),
    timingTable(timings),
  ];
  const report = [about, ...tables].join('\n\n');
  console.log(report);

  await mkdir('test-results', { recursive: true });
  await writeFile(`${OUTPUT}.md`, `${report}\n`);
  await writeFile(
    `${OUTPUT}.json`,
    `${JSON.stringify({ startedAt, machine, loadBefore, ...plan, largeBytes: meta.size_after, series, verdicts, timings }, null, 2)}\n`,
  );
  console.error(`\nwritten to ${OUTPUT}.md and .json`);
} finally {
  await workers.dispose();
}

function seconds(): number {
  return Math.round((Date.now() - startedAt.getTime()) / 1000);
}
