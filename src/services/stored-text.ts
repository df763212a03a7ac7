import { findLargeShare, findStoredText, type StoredTextRow } from '../db/work/stored-text.ts';
import { readAll, readOne } from './call-d1.ts';
import type { ActorContext, ServiceContext, SystemActor } from './context.ts';

/** Whether the organization wrote more than a quarter of the text that the daily ledger counts. */
export async function holdsLargeShare(ctx: ServiceContext, organizationId: string): Promise<boolean> {
  const found = await readOne(ctx, findLargeShare.bind({ organizationId }));
  return found?.isLarge === 1;
}

/**
 * What each organization wrote, as the daily ledger counts it, the largest first. `since` is the
 * first day (`YYYY-MM-DD`) of `bytesSince`.
 */
export async function listStoredText(ctx: ActorContext<SystemActor>, since: string): Promise<StoredTextRow[]> {
  const results = await readAll(ctx, findStoredText.bind({ since }));
  return results;
}
