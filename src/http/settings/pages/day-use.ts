import type { DayLimit } from '../../../domain/day-limit.ts';
import { counted, formatNumber } from './components.tsx';

// Daily limits and their usage, in words.

const MEGABYTE = 1_000_000;

/** Whether a page shows a limit, which is from half of it on. */
const isNear = (used: number, limit: number | null): limit is number => limit !== null && used * 2 >= limit;

/** Bytes of text and their limit in megabytes. The use is rounded down: a full limit is reached. */
function megabytes(bytes: number, limit: number | null): string[] {
  if (!isNear(bytes, limit)) return [];
  const used = Math.floor(bytes / (MEGABYTE / 10)) / 10;
  return [`${formatNumber(used)} of ${formatNumber(limit / MEGABYTE)} MB of text`];
}

/** An amount, with its limit if that is near or the key's own: `12 new records`, `12,000 of 20,000 new records`. */
function amount(used: number, limit: number | null, unit: string, own?: number | null): string {
  return limit !== null && (limit === own || isNear(used, limit))
    ? `${formatNumber(used)} of ${counted(limit, unit)}`
    : counted(used, unit);
}

/** The records of today. The minutes of an organization are not counted. */
interface Use {
  records: number;
  minutes?: number | undefined;
  bytes: number;
}

/** Null for a limit that does not exist. */
type UseLimits = { [Measure in keyof Required<Use>]: number | null };

/**
 * The usage, with the limits that are near and those of the key itself: `12,000 of 20,000 new records, 90 minutes, 32 of
 * 64 MB of text`.
 */
export function useText({ records, minutes, bytes }: Use, limits: UseLimits, own: Partial<UseLimits> = {}): string {
  return [
    amount(records, limits.records, 'new record', own.records),
    ...(minutes === undefined ? [] : [amount(minutes, limits.minutes, 'minute', own.minutes)]),
    ...megabytes(bytes, limits.bytes),
  ].join(', ');
}

/** The limits of records and minutes that exist: `50 new records` and `480 minutes`. */
export const limitWords = ({
  records,
  minutes,
}: Record<'records' | 'minutes', number | null | undefined>): string[] => [
  ...(records == null ? [] : [counted(records, 'new record')]),
  ...(minutes == null ? [] : [counted(minutes, 'minute')]),
];

export const organizationLimits = (limit: DayLimit | null): UseLimits => ({
  records: limit?.records ?? null,
  minutes: null,
  bytes: limit?.bytes ?? null,
});
