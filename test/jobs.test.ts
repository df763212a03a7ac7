import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { addDays, dateIn } from '../src/domain/calendar.ts';
import { CRON_TRIGGERS, runJobs } from '../src/jobs.ts';
import { type Job, startModules } from '../src/module.ts';
import { MODULES } from '../src/modules.ts';
import { forgetOldAddresses } from '../src/services/keys/refused-uses.ts';
import { forgetOldDays } from '../src/services/work/forget-old-days.ts';
import wranglerToml from '../wrangler.toml?raw';
import { archive, releaseAll } from './support/archive.ts';
import { aroundD1, reportingSize, withoutWrites } from './support/d1.ts';
import { loggedLines } from './support/searched-logs.ts';
import { config, makeKey, makeOrganization, rowsOf } from './support/world.ts';

const LIMIT = 10_000_000_000;
const NOW = Date.parse('2027-06-30T03:17:00Z');
/** Runs the jobs of the daily trigger. */
const daily = (db: D1Database, databaseLimit = LIMIT, now = Date.now) =>
  runJobs(CRON_TRIGGERS.daily, { db, config: config({ databaseLimit }), parts: [], now });
const sized = (bytes: number) => reportingSize(env.DB, () => bytes);

test('the daily task logs the size of the database', async () => {
  await daily(env.DB, LIMIT);
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
  await daily(sized(bytes), LIMIT);
  expect(loggedLines('database_size', level)).toEqual([{ event: 'database_size', bytes, share }]);
});

test('the share is that of the limit of the deployment', async () => {
  await daily(sized(450_000_000), 500_000_000);
  expect(loggedLines('database_size', 'error')).toEqual([{ event: 'database_size', bytes: 450_000_000, share: 0.9 }]);
});

test('the days of the ledger are kept for 400 days, and as long as their audit rows are in the database', async () => {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  const { id: idle } = await makeKey(organization);
  const day = (ago: number) => addDays(dateIn('UTC', NOW), -ago);
  await env.DB.batch(
    // More than one statement deletes.
    Array.from({ length: 1_300 }, (_, ago) =>
      env.DB.prepare('insert into key_days values (?1, ?2, ?3, ?2, 1, 0, 0, 1, 1, 1, 1, null)').bind(
        organization,
        id,
        day(ago),
      ),
    ),
  );
  await env.DB.prepare('insert into key_days values (?1, ?2, ?3, ?2, 1, 0, 0, 1, 1, 1, 1, null)')
    .bind(organization, idle, day(900))
    .run();
  const days = async () => (await rowsOf('key_days', organization)).length;
  await daily(env.DB, LIMIT, () => NOW);
  expect(await days()).toBe(1_301);
  await releaseAll(organization);
  expect((await archive(organization)).status).toBe('archived');
  await daily(env.DB, LIMIT, () => NOW);
  const { results } = await env.DB.prepare('select day from key_days where organization_id = ? order by day')
    .bind(organization)
    .all();
  // The latest day of a key stays, because it has its last write.
  expect(results).toHaveLength(402);
  expect(results.slice(0, 2)).toEqual([{ day: day(900) }, { day: day(400) }]);
});

test('a run does a limited part of the work, and the next ones the rest', async () => {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  await makeKey(organization);
  await releaseAll(organization);
  await archive(organization);
  const ctx = { db: env.DB, now: () => NOW, deadlineAt: Date.now() + 30_000, requestId: 'daily' };
  const limits = { rows: 3, chunks: 2 };
  const insert = (sql: string, values: readonly (string | number)[]) =>
    env.DB.prepare(sql).bind(organization, id, ...values);
  await env.DB.batch([
    ...Array.from({ length: 15 }, (_, index) =>
      insert("insert into refused_uses values (?1, ?2, ?3, 1, 0, ?4, '192.0.2.1')", [
        `reason-${'abcdefghijklmno'[index]}`,
        index < 13 ? index : NOW,
      ]),
    ),
    ...Array.from({ length: 14 }, (_, index) =>
      insert('insert into key_days values (?1, ?2, ?3, ?2, 1, 0, 0, 1, 1, 1, 1, null)', [
        addDays(dateIn('UTC', NOW), index - 800),
      ]),
    ),
  ]);
  const left = async () => {
    const uses = await rowsOf('refused_uses', organization);
    return [
      uses.filter(({ source_address }) => source_address !== null).length,
      (await rowsOf('key_days', organization)).length,
    ];
  };
  const results: unknown[] = [];
  for (let run = 0; run < 4; run++) {
    const done = [await forgetOldAddresses(ctx, limits), await forgetOldDays(ctx, limits)];
    results.push([...done, ...(await left())]);
  }
  // Two addresses are recent, and the latest day of the key stays.
  expect(results).toEqual([
    [false, false, 9, 8],
    [false, false, 3, 2],
    [true, true, 2, 1],
    [true, true, 2, 1],
  ]);
});

test('a run makes fewer than 1,000 queries, and logs that it left something', async () => {
  let queries = 0;
  // Every chunk is full.
  const db = aroundD1(env.DB, async (run, statements) => {
    queries += statements;
    return (await run()).map((result) => ({ ...result, meta: { ...result.meta, changes: 1_000 } }));
  });
  const parts = startModules(MODULES, { ...env }, config());
  await runJobs(CRON_TRIGGERS.daily, { db, config: config(), parts, now: () => NOW });
  expect(queries).toBeLessThan(1_000);
  const unfinished = loggedLines('daily_job_unfinished', 'warn').map(({ part }) => part);
  expect(unfinished).toEqual(expect.arrayContaining(['addresses', 'days']));
});

test('the size of a full database is logged too, and the daily task fails', async () => {
  const message = 'D1_ERROR: Exceeded maximum DB size';
  await expect(daily(withoutWrites(sized(9_999_998_976), message), LIMIT)).rejects.toMatchObject({
    code: 'unavailable',
    cause: { message: 'D1 read_only: Exceeded maximum DB size' },
  });
  expect(loggedLines('database_size', 'error')).toHaveLength(1);
});

test('wrangler.toml has exactly the cron triggers of the table', () => {
  const crons = /^crons = (\[.*\])$/m.exec(wranglerToml)?.[1] ?? '[]';
  expect(JSON.parse(crons).sort()).toEqual(Object.values(CRON_TRIGGERS).sort());
});

test('a cron trigger that is not in the table runs nothing and fails', async () => {
  await expect(runJobs('*/10 * * * *', { db: env.DB, config: config(), parts: [] })).rejects.toThrow('"*/10 * * * *"');
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
  const parts = [
    { jobs: [job('a', 'sweep', failing('first')), job('b', 'sweep', failing('second'))] },
    {},
    { jobs: [job('c', 'sweep', async () => {}), job('d', 'hourly', async () => {})] },
  ];
  const run = runJobs(CRON_TRIGGERS.sweep, { db: env.DB, config: config(), parts });
  await expect(run).rejects.toThrow('first');
  expect(ran).toEqual(['a', 'b', 'c']);
  expect(loggedLines('job_failed', 'error').map(({ job }) => job)).toEqual(['a', 'b']);
});
