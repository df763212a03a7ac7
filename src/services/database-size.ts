import { callD1 } from '../db/client.ts';

/** What one D1 database may hold on the paid plan: once it is full, every write fails. */
const MAX_BYTES = 10_000_000_000;
/** How long the daily job waits. */
const JOB_DEADLINE_MS = 30_000;

/**
 * How large the database is, and which share that is of what it may hold.
 * @throws D1Failure
 */
export async function databaseSize(db: D1Database): Promise<{ bytes: number; share: number }> {
  // Any statement tells; this one works in a full database too.
  const { meta } = await callD1({ deadlineAt: Date.now() + JOB_DEADLINE_MS }, () => db.prepare('select 1').all());
  return { bytes: meta.size_after, share: meta.size_after / MAX_BYTES };
}
