import { findLargeShare, findStoredText, type StoredTextRow } from '../db/work/stored-text.ts';
import { callD1 } from './call-d1.ts';
import type { ActorContext, ServiceContext, SystemActor } from './context.ts';

/**
 * Whether the organization wrote more than a quarter of the text that the daily ledger counts.
 * @throws ServiceError `unavailable`
 */
export async function holdsLargeShare(ctx: ServiceContext, organizationId: string): Promise<boolean> {
  const found = await callD1(ctx, 'nothing_written', (db) => findLargeShare.bind({ organizationId }).first(db));
  return found?.isLarge === 1;
}

/**
 * What each organization wrote, as the daily ledger counts it, the largest first. `since` is the
 * first day (`YYYY-MM-DD`) of `bytesSince`.
 * @throws ServiceError `unavailable`
 */
export async function listStoredText(ctx: ActorContext<SystemActor>, since: string): Promise<StoredTextRow[]> {
  const { results } = await callD1(ctx, 'nothing_written', (db) => findStoredText.bind({ since }).all(db));
  return results;
}
