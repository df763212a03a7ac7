import { timeOrderedId } from './domain/record-id.ts';
import { log } from './lib/log.ts';
import { forgetOldNotices } from './modules/alerts/forget-old-notices.ts';
import type { ServiceContext } from './services/context.ts';
import { databaseSize } from './services/database-size.ts';
import { forgetOldAddresses } from './services/keys/refused-uses.ts';
import { logSize } from './services/size-warning.ts';
import { forgetOldDays } from './services/work/forget-old-days.ts';

/** The deadline of a D1 call of the job. */
const DEADLINE_MS = 30_000;

/**
 * The daily job. `databaseLimit` is the size in bytes at which the database is full. A failing part
 * does not stop the others. Its error is thrown at the end, so that the platform shows it. What a
 * run leaves is done by the next ones.
 */
export async function daily(db: D1Database, databaseLimit: number, now: () => number = Date.now): Promise<void> {
  const ctx = { db, now, deadlineAt: Date.now() + DEADLINE_MS, requestId: timeOrderedId(now()) };
  const parts = await Promise.allSettled([
    logDatabaseSize(ctx, databaseLimit),
    logUnfinished('addresses', forgetOldAddresses(ctx)),
    logUnfinished('days', forgetOldDays(ctx)),
    logUnfinished('notices', forgetOldNotices(ctx)),
  ]);
  for (const part of parts) if (part.status === 'rejected') throw part.reason;
}

async function logDatabaseSize(ctx: ServiceContext, limit: number): Promise<void> {
  logSize(await databaseSize(ctx, limit));
}

/** Logs if a part of the job has left something to the next run. */
async function logUnfinished(part: string, isDone: Promise<boolean>): Promise<void> {
  if (!(await isDone)) log('warn', 'daily_job_unfinished', { part });
}
