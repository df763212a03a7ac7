// npm run bench: measures the production bundle against plain services, all in one workerd on loopback, and writes the
// tables to RESULTS.md. `-- --note TEXT` adds a line to RESULTS.md, `-- --better-auth` installs better-auth and measures
// its key check. `-- --quick` is for work on the benchmark itself: its figures are meaningless, so it only prints them.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import type { Cost } from './load.ts';
import { renderResults } from './report.ts';
import { runRounds } from './rounds.ts';
import { makeScenarios } from './scenarios.ts';
import { prepare } from './seed.ts';
import { timeUnauthorized } from './unauthorized-timing.ts';
import { startWorkers } from './workers.ts';

process.env['WRANGLER_SEND_METRICS'] = 'false';

/** The run is stopped after this time. */
const TIME_LIMIT_MS = 20 * 60_000;

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    note: { type: 'string' },
    'better-auth': { type: 'boolean', default: false },
  },
});
const plan = options.quick
  ? { rounds: 2, sliceMs: 250, connections: 16, samples: 300 }
  : { rounds: 31, sliceMs: 1_000, connections: 16, samples: 4_000 };
const withBetterAuth = options['better-auth'];
if (withBetterAuth)
  execFileSync('npm', ['ci', '--ignore-scripts', '--loglevel=error'], {
    cwd: join(import.meta.dirname, 'better-auth'),
  });

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
const workers = await startWorkers(directory, [
  'floor',
  'least',
  'same',
  ...(withBetterAuth ? ['better-auth' as const] : []),
]);
try {
  const db = await workers.database();
  await prepare(db);
  const series = await runRounds(workers, await makeScenarios(workers, await readBills(), withBetterAuth), plan);
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

/** The bills in the README, which the tests count. */
async function readBills(): Promise<Map<string, Cost>> {
  const sections = (await readFile(join(import.meta.dirname, 'README.md'), 'utf8')).split(/^##+ /m);
  const table = sections.find((section) => section.startsWith('The bill')) ?? '';
  const rows = [...table.matchAll(/^\| (.+?) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm)];
  return new Map(
    rows.map(([, name = '', ...cells]) => {
      const [objects = 0, d1 = 0, read = 0, written = 0] = cells.map(Number);
      return [name, { calls: objects + d1, read, written }];
    }),
  );
}
