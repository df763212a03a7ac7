import { findStoredText, type StoredTextRow } from '../db/work/key-days.ts';
import { callD1, readAll } from './call-d1.ts';
import type { ActorContext, ServiceContext, SystemActor } from './service-context.ts';

/** The size of the database in bytes, and as a share of `limit` bytes. */
export async function databaseSize(ctx: ServiceContext, limit: number): Promise<{ bytes: number; share: number }> {
  // Every statement returns the size. This one also works in a full database.
  const { meta } = await callD1(ctx, 'nothing_written', (db) => db.prepare('select 1').all());
  return { bytes: meta.size_after, share: meta.size_after / limit };
}

/** The writes of each organization, the largest first. `since` is the first day (`YYYY-MM-DD`) of `bytesSince`. */
export function listStoredText(ctx: ActorContext<SystemActor>, since: string): Promise<StoredTextRow[]> {
  return readAll(ctx, findStoredText.bind({ since }));
}
