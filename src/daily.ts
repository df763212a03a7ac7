import { log } from './lib/log.ts';
import type { JobContext } from './services/context.ts';
import { databaseSize } from './services/database-size.ts';
import { forgetOldAddresses } from './services/keys/refused-uses.ts';

/** Shares of the largest possible database from which on its size is a warning, then an error: there is time to act before writes fail. */
const WARN_FROM = 0.7;
const ERROR_FROM = 0.9;
/** How long the job waits for D1. */
const DEADLINE_MS = 30_000;

/** What is done once a day. If one part fails the other is done all the same; then it is thrown, so that the platform shows the failure. */
export async function daily(db: D1Database, now: () => number = Date.now): Promise<void> {
  const job = { db, now, deadlineAt: Date.now() + DEADLINE_MS };
  const parts = await Promise.allSettled([logDatabaseSize(job), forgetOldAddresses(job)]);
  for (const part of parts) if (part.status === 'rejected') throw part.reason;
}

async function logDatabaseSize(job: JobContext): Promise<void> {
  const { bytes, share } = await databaseSize(job);
  log(share >= ERROR_FROM ? 'error' : share >= WARN_FROM ? 'warn' : 'log', 'database_size', { bytes, share: Number(share.toFixed(4)) });
}
