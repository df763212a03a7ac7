import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { CRON_TRIGGERS, runJobs } from '../src/jobs.ts';
import { type Job, startModules } from '../src/module.ts';
import { MODULES } from '../src/modules.ts';
import wranglerToml from '../wrangler.toml?raw';
import { aroundD1, reportingSize, withoutWrites } from './support/d1.ts';
import { loggedLines } from './support/searched-logs.ts';
import { config } from './support/world.ts';

const LIMIT = 10_000_000_000;
const NOW = Date.parse('2027-06-30T03:17:00Z');
/** Runs the jobs of the hourly trigger. */
const hourly = (db: D1Database, databaseLimit = LIMIT) =>
  runJobs(CRON_TRIGGERS.hourly, { db, config: config({ databaseLimit }), contributions: [] });
const sized = (bytes: number) => reportingSize(env.DB, () => bytes);

test('the hourly task logs the size of the database', async () => {
  await hourly(env.DB, LIMIT);
  const [line] = loggedLines('database_size');
  expect(line).toEqual({ event: 'database_size', bytes: expect.any(Number), share: expect.any(Number) });
  expect(line?.['bytes']).toBeGreaterThan(10_000);
});

test.each([
  [6_999_999_999, 'log', 0.7],
  [7_000_000_000, 'warn', 0.7],
  [8_999_949_999, 'warn', 0.9],
  [9_000_000_000, 'error', 0.9],
  [9_999_998_976, 'error', 1],
])('a size of %i bytes is logged as %s', async (bytes, level, share) => {
  await hourly(sized(bytes), LIMIT);
  expect(loggedLines('database_size', level)).toEqual([{ event: 'database_size', bytes, share }]);
});

test("the share is computed from the deployment's limit", async () => {
  await hourly(sized(450_000_000), 500_000_000);
  expect(loggedLines('database_size', 'error')).toEqual([{ event: 'database_size', bytes: 450_000_000, share: 0.9 }]);
});

test('a run makes fewer than 1,000 queries, and logs the remaining work', async () => {
  let queries = 0;
  // Every chunk is full.
  const db = aroundD1(env.DB, async (run, statements) => {
    queries += statements;
    return (await run()).map((result) => ({ ...result, meta: { ...result.meta, changes: 10_000 } }));
  });
  const contributions = startModules(MODULES, { ...env }, config());
  await runJobs(CRON_TRIGGERS.daily, { db, config: config(), contributions, now: () => NOW });
  expect(queries).toBeLessThan(1_000);
  const unfinished = loggedLines('daily_job_unfinished', 'warn').map(({ part }) => part);
  expect(unfinished).toEqual(['addresses', 'refused_requests']);
});

test('a full database is logged, and the tasks that write fail', async () => {
  const db = withoutWrites(sized(9_999_998_976), 'D1_ERROR: Exceeded maximum DB size');
  await hourly(db);
  expect(loggedLines('database_size', 'error')).toHaveLength(1);
  const failed = runJobs(CRON_TRIGGERS.daily, { db, config: config(), contributions: [] });
  await expect(failed).rejects.toMatchObject({
    code: 'unavailable',
    cause: { message: 'D1 read_only: Exceeded maximum DB size' },
  });
});

test('wrangler.toml has exactly the cron triggers of the table', () => {
  const crons = /^crons = (\[.*\])$/m.exec(wranglerToml)?.[1] ?? '[]';
  expect(JSON.parse(crons).sort()).toEqual(Object.values(CRON_TRIGGERS).sort());
});

test('a cron trigger that is not in the table runs nothing and fails', async () => {
  await expect(runJobs('*/10 * * * *', { db: env.DB, config: config(), contributions: [] })).rejects.toThrow(
    '"*/10 * * * *"',
  );
  expect(loggedLines('database_size')).toEqual([]);
});

test('every failure of a run is logged, the first one is thrown, and the other jobs run', async () => {
  const ran: string[] = [];
  const job = (name: string, cron: Job['cron'], run: () => Promise<void>): Job => ({
    name,
    cron,
    run: async () => {
      ran.push(name);
      await run();
    },
  });
  const failing = (message: string) => () => Promise.reject(new Error(message));
  const contributions = [
    { jobs: [job('a', 'frequent', failing('first')), job('b', 'frequent', failing('second'))] },
    {},
    { jobs: [job('c', 'frequent', async () => {}), job('d', 'hourly', async () => {})] },
  ];
  const run = runJobs(CRON_TRIGGERS.frequent, { db: env.DB, config: config(), contributions });
  await expect(run).rejects.toThrow('first');
  expect(ran).toEqual(['a', 'b', 'c']);
  expect(loggedLines('job_failed', 'error').map(({ job }) => job)).toEqual(['a', 'b']);
});
