// npm run bench: measures the production bundle against a minimal service and its peers, all in one
// workerd on loopback. Writes the tables to RESULTS.md and every figure to test-results/bench.json.
// `-- --note TEXT` adds a line to RESULTS.md. `-- --quick` is for work on the benchmark itself: its figures are meaningless, so it writes to
// test-results only. `-- --pair NAME --pair NAME` runs two scenarios in turn and prints their ratio in each round.
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { renderPair, renderResults } from './report.ts';
import { runRounds } from './rounds.ts';
import { makeScenarios, type Scenario } from './scenarios.ts';
import { grow, prepare } from './seed.ts';
import { evaluate } from './targets.ts';
import { timeUnauthorized } from './unauthorized-timing.ts';
import { startWorkers } from './workers.ts';

process.env['WRANGLER_SEND_METRICS'] = 'false';

const FIGURES = 'test-results/bench.json';
/** The run is stopped after this time. */
const TIME_LIMIT_MS = 12 * 60_000;
const CONNECTIONS = [1, 16];
/** The number of connections to which the targets apply. */
const LOADED = 16;
/** Unused keys in the large database. With those of the scenarios there are 10,000. */
const UNUSED_KEYS = 8_800;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    note: { type: 'string' },
    pair: { type: 'string', multiple: true },
  },
});
const results = options.quick ? 'test-results/bench.md' : join(import.meta.dirname, 'RESULTS.md');
const plan = options.quick
  ? { rounds: 2, sliceMs: 250, entries: 20_000, samples: 300 }
  : { rounds: options.pair ? 21 : 7, sliceMs: 800, entries: 1_000_000, samples: 4_000 };

// Removes the databases at the end of the run, also after an error. Miniflare stops workerd.
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
  const all = await makeScenarios(workers);
  const scenarios = options.pair ? chosen(all, options.pair) : all;
  if (scenarios.some(({ worker }) => worker === 'api-large'))
    await grow(large, { keys: UNUSED_KEYS, entries: plan.entries });
  const { meta } = await large.prepare('select 1').run();
  console.error(`ready after ${seconds()} s`);
  if (options.pair) {
    console.log(renderPair(await runRounds(workers, scenarios, { ...plan, connections: [LOADED] })));
    process.exit();
  }

  const series = await runRounds(workers, scenarios, { ...plan, connections: CONNECTIONS });
  const timings = await timeUnauthorized(workers, plan.samples);
  const run = {
    date: startedAt.toISOString().slice(0, 10),
    processor: `${availableParallelism()} cores of ${cpus()[0]?.model.trim()}`,
    versions: { node: process.version, workerd: await workerdVersion() },
    loadBefore,
    rounds: plan.rounds,
    sliceMs: plan.sliceMs,
    large: { entries: plan.entries, keys: 10_000, bytes: meta.size_after },
    seconds: seconds(),
    note: options.note,
    loaded: LOADED,
    series,
    verdicts: evaluate(series, LOADED),
    timings,
  };
  const report = renderResults(run);
  console.log(report);

  await mkdir('test-results', { recursive: true });
  await writeFile(results, report);
  await writeFile(FIGURES, `${JSON.stringify(run, null, 2)}\n`);
  console.error(`written to ${results} and ${FIGURES}`);
} finally {
  await workers.dispose();
}

/** The two scenarios of `--pair`, in this order. */
function chosen(scenarios: readonly Scenario[], names: readonly string[]): Scenario[] {
  const found = names.flatMap((name) => scenarios.filter((scenario) => scenario.name === name));
  if (found.length === 2 && names.length === 2) return found;
  throw new Error(`--pair takes two of: ${scenarios.map(({ name }) => name).join(' | ')}`);
}

function seconds(): number {
  return Math.round((Date.now() - startedAt.getTime()) / 1000);
}

/** The version of workerd in wrangler. */
async function workerdVersion(): Promise<string> {
  const lock = z.object({ packages: z.object({ 'node_modules/workerd': z.object({ version: z.string() }) }) });
  return lock.parse(JSON.parse(await readFile('package-lock.json', 'utf8'))).packages['node_modules/workerd'].version;
}
