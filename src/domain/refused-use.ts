import * as z from 'zod';
import { ExpiringMap } from '../lib/expiring-map.ts';
import type { UnauthorizedReason } from './api-key.ts';

/** Six get a 401 or 403, `daily_limit_reached` a 429; the last is a replay of a different request. */
export const REFUSED_USE_REASONS = [
  'revoked',
  'expired',
  'scope_missing',
  'address_not_allowed',
  'organization_inactive',
  'psa_not_included',
  'daily_limit_reached',
  'idempotency_mismatch',
] as const satisfies readonly (
  | UnauthorizedReason
  | 'psa_not_included'
  | 'daily_limit_reached'
  | 'idempotency_mismatch'
)[];

export type RefusedUseReason = (typeof REFUSED_USE_REASONS)[number];

export function isRefusedUseReason(reason: string): reason is RefusedUseReason {
  return REFUSED_USE_REASONS.some((one) => one === reason);
}

/** How long the source address of a refused use is kept. */
export const ADDRESS_RETENTION_MS = 30 * 24 * 3_600_000;

/** A write that created no record because an earlier, different request had its Idempotency-Key. */
export const lostWrite = z.object({
  /** UTC milliseconds. */
  at: z.int(),
  idempotencyKey: z.string(),
  /** The ticket of the lost write, not that of the earlier record. */
  ticketId: z.string(),
  requestId: z.string(),
});
export type LostWrite = z.infer<typeof lostWrite>;

/** How many lost writes of a key are kept, the latest ones. */
export const KEPT_LOST_WRITES = 5;

const MINUTE_MS = 60_000;
/** Beyond this, an isolate evicts the oldest subject, which costs an extra write or loses a count. */
const MAX_SUBJECTS = 1_000;

/**
 * Limits what is recorded to one record per subject and minute, so that neither a broken workflow nor a prober causes a
 * database write per request. Uses in between are added to the next record.
 */
export class RefusedUseMeter {
  private readonly seen = new ExpiringMap<{ minute: number; count: number; lost: readonly LostWrite[] }>(MAX_SUBJECTS);

  /**
   * Counts one refused use at `now` (UTC milliseconds). Returns what to record now: the number of uses, and their lost
   * writes, latest first. Undefined for nothing.
   */
  take(subject: string, now: number, lostNow?: LostWrite): { count: number; lost: readonly LostWrite[] } | undefined {
    const minute = Math.floor(now / MINUTE_MS);
    const last = this.seen.get(subject, now);
    const count = 1 + (last?.count ?? 0);
    const lost = [...(lostNow ? [lostNow] : []), ...(last?.lost ?? [])].slice(0, KEPT_LOST_WRITES);
    if (last?.minute === minute) {
      Object.assign(last, { count, lost });
      return undefined;
    }
    this.seen.set(subject, { minute, count: 0, lost: [] }, Number.POSITIVE_INFINITY);
    return { count, lost };
  }
}
