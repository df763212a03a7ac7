import { callD1 } from './call-d1.ts';
import type { ServiceContext } from './service-context.ts';

/** The size of the database in bytes, and as a share of `limit` bytes. */
export async function databaseSize(ctx: ServiceContext, limit: number): Promise<{ bytes: number; share: number }> {
  // Every statement returns the size. This one also works in a full database.
  const { meta } = await callD1(ctx, 'nothing_written', (db) => db.prepare('select 1').all());
  return { bytes: meta.size_after, share: meta.size_after / limit };
}
