import { timeOrderedId } from './domain/record-id.ts';
import { log } from './lib/log.ts';
import type { ServiceContext } from './services/context.ts';
import { databaseSize } from './services/database-size.ts';
import { forgetOldAddresses } from './services/keys/refused-uses.ts';
import { forgetOldDays } from './services/work/forget-old-days.ts';

/**
 * Database size, as a share of the limit, at which the daily log line is a warning or an error:
 * early enough to act before writes fail.
 */
const WARN_FROM = 0.7;
const ERROR_FROM = 0.9;
/** The deadline of the D1 calls of the job. */
const DEADLINE_MS = 30_000;

/**
 * The daily job. A failing part does not stop the others. Its error is thrown at the end, so that
 * the platform shows it.
 */
export async function daily(db: D1Database, now: () => number = Date.now): Promise<void> {
  const ctx = { db, now, deadlineAt: Date.now() + DEADLINE_MS, requestId: timeOrderedId(now()) };
  const parts = await Promise.allSettled([logDatabaseSize(ctx), forgetOldAddresses(ctx), forgetOldDays(ctx)]);
  for (const part of parts) if (part.status === 'rejected') throw part.reason;
}

async function logDatabaseSize(ctx: ServiceContext): Promise<void> {
  const { bytes, share } = await databaseSize(ctx);
  log(share >= ERROR_FROM ? 'error' : share >= WARN_FROM ? 'warn' : 'log', 'database_size', {
    bytes,
    share: Number(share.toFixed(4)),
  });
}
