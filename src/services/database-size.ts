import { callD1 } from '../db/client.ts';
import type { JobContext } from './context.ts';

/** What one D1 database may hold on the paid plan: once it is full, every write fails. */
const MAX_BYTES = 10_000_000_000;

/**
 * How large the database is, and which share that is of what it may hold.
 * @throws D1Failure
 */
export async function databaseSize({ db, deadlineAt }: JobContext): Promise<{ bytes: number; share: number }> {
  // Any statement tells; this one works in a full database too.
  const { meta } = await callD1({ deadlineAt }, () => db.prepare('select 1').all());
  return { bytes: meta.size_after, share: meta.size_after / MAX_BYTES };
}
