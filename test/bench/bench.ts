// npm run bench: measures the production bundle against two plain services, all in one workerd on loopback, and writes
// the tables to RESULTS.md. `-- --note TEXT` adds a line to RESULTS.md. `-- --quick` is for work on the benchmark itself:
// its figures are meaningless, so it only prints them.
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { renderResults } from './report.ts';
import { runRounds } from './rounds.ts';
import { makeScenarios } from './scenarios.ts';
import { prepare } from './seed.ts';
import { timeUnauthorized } from './unauthorized-timing.ts';
import { startWorkers } from './workers.ts';

process.env['WRANGLER_SEND_METRICS'] = 'false';

/** The run is stopped after this time. */
const TIME_LIMIT_MS = 12 * 60_000;

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, note: { type: 'string' } },
});
const plan = options.quick
  ? { rounds: 2, sliceMs: 250, connections: 16, samples: 300 }
  : { rounds: 15, sliceMs: 800, connections: 16, samples: 4_000 };

// Removes the database at the end of the run, even after an error. Miniflare stops workerd.
const directory = await mkdtemp(join(tmpdir(), 'twb-bench-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(130));
setTimeout(() => {
  console.error(`not finished after ${TIME_LIMIT_MS / 60_000} minutes`);
  process.exit(1);
}, TIME_LIMIT_MS).unref();

const startedAt = Date.now();
const loadBefore = loadavg()[0] ?? 0;
const workers = await startWorkers(directory);
try {
  const db = await workers.database();
  await prepare(db);
  const series = await runRounds(workers, await makeScenarios(db), plan);
  const report = renderResults({
    date: new Date(startedAt).toISOString().slice(0, 10),
    processor: `${availableParallelism()} cores of ${cpus()[0]?.model.trim()}`,
    versions: { node: process.version, workerd: await workerdVersion() },
    loadBefore,
    plan,
    seconds: Math.round((Date.now() - startedAt) / 1000),
    note: options.note,
    series,
    timings: await timeUnauthorized(workers, plan.samples),
  });
  console.log(report);
  if (!options.quick) await writeFile(join(import.meta.dirname, 'RESULTS.md'), report);
} finally {
  await workers.dispose();
}

/** The version of workerd in wrangler. */
async function workerdVersion(): Promise<string> {
  const lock = z.object({ packages: z.object({ 'node_modules/workerd': z.object({ version: z.string() }) }) });
  return lock.parse(JSON.parse(await readFile('package-lock.json', 'utf8'))).packages['node_modules/workerd'].version;
}
