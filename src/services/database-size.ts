import { callD1 } from './call-d1.ts';
import type { ServiceContext } from './context.ts';

/** What one D1 database may hold on the paid plan: once it is full, every write fails. */
const MAX_BYTES = 10_000_000_000;

/**
 * The size of the database in bytes, and as a share of what it may hold.
 * @throws ServiceError `unavailable`
 */
export async function databaseSize(ctx: ServiceContext): Promise<{ bytes: number; share: number }> {
  // Every statement returns the size; this one works in a full database too.
  const { meta } = await callD1(ctx, 'nothing_written', (db) => db.prepare('select 1').all());
  return { bytes: meta.size_after, share: meta.size_after / MAX_BYTES };
}
