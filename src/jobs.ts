import type { Config } from './config.ts';
import { warningLevel } from './domain/database-limit.ts';
import { timeOrderedId } from './domain/record-id.ts';
import { log } from './lib/log.ts';
import type { Contribution, Job } from './module.ts';
import { callD1 } from './services/call-d1.ts';
import { deleteOld, type Retention } from './services/delete-old.ts';
import { forgetOldAddresses, forgetOldRefusedRequests } from './services/forget.ts';
import type { ServiceContext } from './services/service-context.ts';

/** The cron triggers of wrangler.toml, by name. */
export const CRON_TRIGGERS: Readonly<Record<Job['cron'], string>> = {
  frequent: '*/5 * * * *',
  hourly: '47 * * * *',
  daily: '17 3 * * *',
};

/** The deadline of a D1 call of a job. */
const DEADLINE_MS = 30_000;

const coreJobs = ({ databaseLimit, keepDays, receiver }: Config): Job[] => [
  // Hourly: one key at its limit of requests fills a database within hours.
  { name: 'size', cron: 'hourly', run: (ctx) => logSize(ctx, databaseLimit) },
  { name: 'addresses', cron: 'daily', run: async (ctx) => logUnfinished('addresses', await forgetOldAddresses(ctx)) },
  {
    name: 'refused_requests',
    cron: 'daily',
    run: async (ctx) => logUnfinished('refused_requests', await forgetOldRefusedRequests(ctx)),
  },
  ...(keepDays === undefined ? [] : [deletionOf({ keepDays, isPushed: receiver !== undefined })]),
];

const deletionOf = (retention: Retention): Job => ({
  name: 'deletion',
  cron: 'daily',
  run: async (ctx) => logUnfinished('deletion', await deleteOld(ctx, retention)),
});

/** How full the database is decides the level. Every statement returns the size; this one works in a full database. */
async function logSize(ctx: ServiceContext, limit: number): Promise<void> {
  const { meta } = await callD1(ctx, 'nothing_written', (db) => db.prepare('select 1').all());
  const bytes = meta.size_after;
  const level = (['log', 'warn', 'error'] as const)[warningLevel(bytes / limit)] ?? 'error';
  log(level, 'database_size', { bytes, share: Number((bytes / limit).toFixed(4)) });
}

function logUnfinished(part: string, isDone: boolean): void {
  if (!isDone) log('warn', 'daily_job_unfinished', { part });
}

/**
 * Runs the jobs of a cron trigger, simultaneously. A failing job does not stop the others. Every failure is logged, and
 * the first one is thrown, so that the platform shows it.
 * @throws Error even if no trigger in `CRON_TRIGGERS` is written like `cron`
 */
export async function runJobs(
  cron: string,
  {
    db,
    config,
    contributions,
    now = Date.now,
  }: { db: D1Database; config: Config; contributions: readonly Contribution[]; now?: () => number },
): Promise<void> {
  const trigger = Object.entries(CRON_TRIGGERS).find(([, text]) => text === cron)?.[0];
  if (trigger === undefined)
    throw new Error(`"${cron}" is no cron trigger of this service; write those of CRON_TRIGGERS in wrangler.toml`);
  const jobs = [...coreJobs(config), ...contributions.flatMap(({ jobs }) => jobs ?? [])].filter(
    (job) => job.cron === trigger,
  );
  const facts = contributions.flatMap((contribution) => contribution.facts ?? []);
  const { databaseLimit } = config;
  const failures: unknown[] = [];
  await Promise.all(
    jobs.map(async ({ name, run }) => {
      try {
        const ctx = { db, now, databaseLimit, deadlineAt: Date.now() + DEADLINE_MS, requestId: timeOrderedId(now()) };
        await run({ ...ctx, facts });
      } catch (err) {
        failures.push(err);
        log('error', 'job_failed', { job: name, cause: err });
      }
    }),
  );
  for (const failure of failures) throw failure;
}
