import type { RefusedReasonRow } from '../../db/keys/refused-uses.ts';
import { DAY_MS } from '../../domain/calendar.ts';
import type { RefusedUseReason } from '../../domain/refused-use.ts';
import type { KeyDetails } from './read-keys.ts';
import type { ReviewDue } from './read-reviews.ts';
import { expiresWithin, isUnused } from './select-keys.ts';

/** How long a refused use needs attention after the last time. */
export const REFUSED_ATTENTION_MS = 7 * DAY_MS;
/** How many refused uses are examined, latest first. */
export const EXAMINED_REFUSED_USES = 500;
/** How many days before its expiry a key needs attention. */
export const EXPIRING_DAYS = 14;

/** How many days before its date a review needs attention. */
export const REVIEW_DUE_DAYS = 14;

/** The reasons that an administrator can do something about, the most urgent first. */
export const REASONS_FOR_ATTENTION = [
  'expired',
  'idempotency_mismatch',
  'revoked',
  'scope_missing',
  'address_not_allowed',
  'daily_limit_reached',
] as const satisfies readonly RefusedUseReason[];

/** Whether a refused use for this reason needs attention. */
export const needsAttention = (reason: RefusedUseReason): boolean =>
  REASONS_FOR_ATTENTION.some((one) => one === reason);

/** Recent refused uses for one reason. Times are UTC milliseconds; counts are lower bounds. */
export type RefusedReason = RefusedReasonRow;

/** What an administrator should look at. Empty lists for what is in order. */
export interface Attention {
  refused: readonly RefusedReason[];
  /** Live keys that expire soon and have no successor, the earliest first. */
  expiring: readonly KeyDetails[];
  /** Live keys without a write for `unusedDays`. */
  unused: readonly KeyDetails[];
  unusedDays: number;
  /** Live keys whose creator is no longer an active administrator. */
  ofFormer: readonly KeyDetails[];
  /** The next review, if it is due soon or overdue. */
  review: ReviewDue | null;
}

/**
 * What needs attention among these live keys and recent refused uses. A key without a write for
 * `unusedDays` counts as unused. `review` is the next review.
 */
export function attentionFor(
  live: readonly KeyDetails[],
  refused: readonly RefusedReason[],
  { unusedDays, review }: { unusedDays: number; review: ReviewDue | null },
  now: number,
): Attention {
  const current = live.filter(({ successor }) => successor === null);
  return {
    refused: REASONS_FOR_ATTENTION.flatMap((reason) => refused.find((one) => one.reason === reason) ?? []),
    expiring: current
      .filter((key) => expiresWithin(key, EXPIRING_DAYS, now))
      .toSorted((a, b) => (a.expiresAt ?? 0) - (b.expiresAt ?? 0)),
    unused: current.filter((key) => isUnused(key, unusedDays, now)),
    unusedDays,
    ofFormer: current.filter(({ creatorActive }) => !creatorActive),
    review: review && review.daysLeft <= REVIEW_DUE_DAYS ? review : null,
  };
}
