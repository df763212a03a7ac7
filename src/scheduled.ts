import type { Config } from './config.ts';
import { daily } from './daily.ts';
import { notices } from './modules/alerts/run.ts';
import { archiveOf } from './modules/archive/bucket.ts';
import { ARCHIVE_CRON, archiveDue } from './modules/archive/run.ts';
import { SWEEP_CRON, sweep } from './modules/push/sweep.ts';

/** The bindings of the jobs. A deployment may have no bucket. */
type Bindings = Pick<Env, 'DB' | 'PUSHER'> & { ARCHIVE?: R2Bucket | undefined };

/** Runs the job of a cron trigger. */
export async function scheduled(
  cron: string,
  env: Bindings,
  config: Config,
  now: () => number = Date.now,
): Promise<void> {
  const { databaseLimit, push, keepDays, mode } = config;
  switch (cron) {
    case SWEEP_CRON:
      try {
        if (push) await sweep(env.DB, env.PUSHER, now);
      } finally {
        await notices(env.DB, config, now);
      }
      return;
    case ARCHIVE_CRON: {
      const bucket = archiveOf(env);
      // Not while paused: the operator may be about to undo a restore of the database.
      if (bucket && keepDays !== undefined && mode === 'open')
        await archiveDue({ db: env.DB, bucket }, { keepDays, isPushed: push !== undefined }, now);
      return;
    }
    default:
      await daily(env.DB, databaseLimit, now);
  }
}

/** @throws Error if there is no bucket for what KEEP_DAYS asks for */
export function requireArchive(env: Bindings, { keepDays }: Config): void {
  if (keepDays !== undefined && !archiveOf(env))
    throw new Error('KEEP_DAYS is set, but there is no bucket with the binding ARCHIVE; add one, or empty KEEP_DAYS');
}
