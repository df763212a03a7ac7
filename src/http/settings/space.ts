import { type Fullness, fullnessAt } from '../../domain/database-limit.ts';
import { log } from '../../lib/log.ts';
import { latestDatabaseSize } from '../../services/size-warning.ts';
import { holdsLargeShare } from '../../services/stored-text.ts';
import { type AppEnv, type ContextOf, serviceContext } from '../context.ts';

/** How long an isolate remembers whether an organization wrote a large share of the text. */
const REMEMBER_MS = 10 * 60_000;

/** What the banner of every page says about the space in the database. */
export interface Space {
  fullness: Exclude<Fullness, 'normal'>;
  /** Of the database's limit. */
  share: number;
  /** Whether the organization wrote more than a quarter of all text. */
  isLargeShare: boolean;
}

/**
 * The space to show to an organization; undefined while the database is less than 70 % full. The
 * size comes with the results that the page reads anyway, so it costs no call. Only if the database
 * is nearly full, the organization's share is read, every ten minutes in each isolate. That reads a
 * few times as many rows of the daily ledger as the organization has; all of them if it wrote about
 * a quarter or more.
 */
export async function spaceToShow(c: ContextOf<AppEnv>, organizationId: string): Promise<Space | undefined> {
  const share = latestDatabaseSize(serviceContext(c))?.share ?? 0;
  const fullness = fullnessAt(share);
  if (fullness === 'normal') return undefined;
  return { fullness, share, isLargeShare: await isLargeShare(c, organizationId) };
}

/** Never fails, because the page may be the only one that shows a new key. */
async function isLargeShare(c: ContextOf<AppEnv>, organizationId: string): Promise<boolean> {
  const ctx = serviceContext(c);
  const { largeShares } = c.get('caches');
  const remembered = largeShares.get(organizationId, ctx.now());
  if (remembered !== undefined) return remembered;
  try {
    const isLarge = await holdsLargeShare(ctx, organizationId);
    largeShares.set(organizationId, isLarge, ctx.now() + REMEMBER_MS);
    return isLarge;
  } catch (err) {
    log('warn', 'large_share_not_read', { requestId: ctx.requestId, cause: err });
    return false;
  }
}
