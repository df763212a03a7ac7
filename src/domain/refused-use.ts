import * as z from 'zod/mini';
import type { UnauthorizedReason } from './api-key.ts';
import { DAY_MS } from './calendar.ts';
import type { ExceededDayLimit } from './day-limit.ts';
import type { ServiceErrorCode } from './errors.ts';
import { companyIds, type KeySettings } from './key-settings.ts';
import { isAllowedFrom } from './networks.ts';

/**
 * Six get a 401 or 403, `daily_limit_reached` a 429, and then a 404 and a 422; the last is a replay of a different
 * request, or a 409.
 */
const REFUSED_USE_REASONS = [
  'revoked',
  'expired',
  'scope_missing',
  'address_not_allowed',
  'company_not_allowed',
  'organization_inactive',
  'psa_not_included',
  'daily_limit_reached',
  'ticket_not_found',
  'technician_not_eligible',
  'idempotency_mismatch',
] as const satisfies readonly (UnauthorizedReason | ServiceErrorCode | 'company_not_allowed')[];

export type RefusedUseReason = (typeof REFUSED_USE_REASONS)[number];

export function isRefusedUseReason(reason: string): reason is RefusedUseReason {
  return REFUSED_USE_REASONS.some((one) => one === reason);
}

/** How long a refused use needs attention after the last time. */
export const REFUSED_ATTENTION_MS = 7 * DAY_MS;

/** The reasons that an administrator can do something about, the most urgent first. The others are only listed. */
export const REASONS_FOR_ATTENTION = [
  'expired',
  'idempotency_mismatch',
  'revoked',
  'scope_missing',
  'address_not_allowed',
  'daily_limit_reached',
] as const satisfies readonly RefusedUseReason[];

export function isForAttention(reason: string): boolean {
  return REASONS_FOR_ATTENTION.some((one) => one === reason);
}

export type SettingsThatRefuse = Pick<
  KeySettings,
  'allowedNetworks' | 'companies' | 'dayLimitRecords' | 'dayLimitMinutes'
>;

/** Whether the settings of a key allow what was refused with it: they do after a repair. */
export function allowsRefused(
  settings: SettingsThatRefuse,
  refusal: {
    reason: string;
    sourceAddress: string | null;
    companyId: string | null;
    dayLimit: ExceededDayLimit | null;
  },
): boolean {
  const { allowedNetworks, companies } = settings;
  const { reason, sourceAddress, companyId, dayLimit } = refusal;
  if (dayLimit?.isOwn) {
    const limit = settings[limitField(dayLimit)];
    return limit === null || limit >= dayLimit.used + dayLimit.added;
  }
  if (reason === 'address_not_allowed') return isAllowedFrom(allowedNetworks, sourceAddress);
  if (reason !== 'company_not_allowed') return false;
  return companies === '' || (companyId !== null && companyIds(companies).includes(companyId));
}

/** The setting of a key that is its own daily limit. */
export const limitField = ({ what }: ExceededDayLimit) => (what === 'minutes' ? 'dayLimitMinutes' : 'dayLimitRecords');

/** How long the source address of a refused use is kept. */
export const ADDRESS_RETENTION_MS = 30 * 24 * 3_600_000;

/** A write that created no record because an earlier, different request had its Idempotency-Key. */
export const lostWrite = z.lazy(() =>
  z.object({
    /** UTC milliseconds. */
    at: z.int(),
    idempotencyKey: z.string(),
    /** The ticket of the lost write, not that of the earlier record. */
    ticketId: z.string(),
    requestId: z.string(),
  }),
);
export type LostWrite = z.infer<typeof lostWrite>;

/** How many lost writes of a key are kept, the latest ones. */
export const KEPT_LOST_WRITES = 50;

export const MINUTE_MS = 60_000;
/** How many uses of a key for one reason an isolate stores in a minute: all of them up to here. */
export const STORED_A_MINUTE = 10;
/** How many uses of an organization it stores. More only if they are the first of their key and reason, or lost writes. */
const MAX_STORED_A_MINUTE = 60;
/** How many organizations an isolate remembers, and how many keys and reasons of each. */
const MAX_ORGANIZATIONS = 500;
const MAX_SUBJECTS = 100;
/** How many lost writes of a key an isolate remembers after the last one that it stored. */
const MAX_WAITING = 5;

/** How many uses were stored in the minute of the latest one, and the uses after it. */
interface Metered {
  minute: number;
  stored: number;
  count: number;
  lost: readonly LostWrite[];
}

interface MeteredOrganization {
  minute: number;
  stored: number;
  subjects: Map<string, Metered>;
}

/**
 * Limits how many uses an isolate stores, so that neither a broken workflow nor a prober causes a database write per
 * request. Each use is stored up to the limits, so that below them the counts are exact. Uses above them are added to
 * the next count. Each organization has its own share. If it is full, a use of another subject is not counted: only
 * subjects of earlier minutes make room, with their counts.
 */
export class RefusedUseMeter {
  /** Both maps are in the order of their latest counts. */
  private readonly organizations = new Map<string, MeteredOrganization>();

  /**
   * Counts one refused use at `now` (UTC milliseconds). Returns what to store now: the number of uses, and their lost
   * writes, latest first. Undefined for nothing.
   */
  take(
    organizationId: string,
    subject: string,
    now: number,
    lostNow?: LostWrite,
  ): { count: number; lost: readonly LostWrite[] } | undefined {
    const minute = Math.floor(now / MINUTE_MS);
    const organization = this.organizations.get(organizationId);
    const subjects = organization?.subjects ?? new Map<string, Metered>();
    const last = subjects.get(subject);
    const count = 1 + (last?.count ?? 0);
    const lost = [...(lostNow ? [lostNow] : []), ...(last?.lost ?? [])];
    const ofOrganization = organization?.minute === minute ? organization.stored : 0;
    const isFull = lostNow === undefined && ofOrganization >= MAX_STORED_A_MINUTE;
    if (last?.minute === minute && (isFull || last.stored >= STORED_A_MINUTE)) {
      Object.assign(last, { count, lost: lost.slice(0, MAX_WAITING) });
      return undefined;
    }
    const stored = 1 + (last?.minute === minute ? last.stored : 0);
    if (!setLast(subjects, subject, { minute, stored, count: 0, lost: [] }, MAX_SUBJECTS)) return undefined;
    const changed = { minute, stored: ofOrganization + 1, subjects };
    if (!setLast(this.organizations, organizationId, changed, MAX_ORGANIZATIONS)) return undefined;
    return { count, lost };
  }
}

/** Sets the last entry of a map. In a full one it replaces the first entry, unless that is of the same minute. */
function setLast<Entry extends { minute: number }>(map: Map<string, Entry>, key: string, entry: Entry, max: number) {
  const [first] = map;
  if (!map.delete(key) && map.size >= max) {
    if (first === undefined || first[1].minute === entry.minute) return false;
    map.delete(first[0]);
  }
  map.set(key, entry);
  return true;
}
