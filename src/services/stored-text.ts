import { findLargeShare } from '../db/work/stored-text.ts';
import { callD1 } from './call-d1.ts';
import type { ServiceContext } from './context.ts';

/**
 * Whether the organization wrote more than a quarter of the text that the daily ledger counts.
 * @throws ServiceError `unavailable`
 */
export async function holdsLargeShare(ctx: ServiceContext, organizationId: string): Promise<boolean> {
  const found = await callD1(ctx, 'nothing_written', (db) => findLargeShare.bind({ organizationId }).first(db));
  return found?.isLarge === 1;
}
