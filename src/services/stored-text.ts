import { findStoredText, type StoredTextRow } from '../db/work/stored-text.ts';
import { readAll } from './call-d1.ts';
import type { ActorContext, SystemActor } from './service-context.ts';

/**
 * What each organization wrote, as the daily ledger counts it, the largest first. `since` is the
 * first day (`YYYY-MM-DD`) of `bytesSince`.
 */
export async function listStoredText(ctx: ActorContext<SystemActor>, since: string): Promise<StoredTextRow[]> {
  const results = await readAll(ctx, findStoredText.bind({ since }));
  return results;
}
