import type { DayLimit } from '../../../domain/day-limit.ts';
import { counted, formatNumber } from './components.tsx';

// Daily limits and their usage, in words.

const MEGABYTE = 1_000_000;

/** Bytes of text and their limit in megabytes, from half of the limit on. The use is rounded down: a full limit is reached. */
function megabytes(bytes: number, limit: number | null): string[] {
  if (limit === null || bytes * 2 < limit) return [];
  const used = Math.floor(bytes / (MEGABYTE / 10)) / 10;
  return [`${formatNumber(used)} of ${formatNumber(limit / MEGABYTE)} MB of text`];
}

/** An amount with its limit, if there is one: `12 of 20,000 new records`. */
export function amount(used: number, limit: number | null, unit: string): string {
  return limit === null ? counted(used, unit) : `${formatNumber(used)} of ${counted(limit, unit)}`;
}

/** The records of today. The minutes of an organization are not counted. */
interface Use {
  records: number;
  minutes?: number | undefined;
  bytes: number;
}

/** Null for a limit that does not exist. */
type UseLimits = { [Measure in keyof Required<Use>]: number | null };

/** The usage of the limits: `12 of 20,000 new records, 90 minutes, 0.1 of 64 MB of text`. */
export function useText({ records, minutes, bytes }: Use, limits: UseLimits): string {
  return [
    amount(records, limits.records, 'new record'),
    ...(minutes === undefined ? [] : [amount(minutes, limits.minutes, 'minute')]),
    ...megabytes(bytes, limits.bytes),
  ].join(', ');
}

/** The limits of records and minutes that exist: `50 new records, 480 minutes`; empty if there is none. */
export const limitsText = ({ records, minutes }: Pick<UseLimits, 'records' | 'minutes'>): string =>
  [
    ...(records === null ? [] : [counted(records, 'new record')]),
    ...(minutes === null ? [] : [counted(minutes, 'minute')]),
  ].join(', ');

export const organizationLimits = (limit: DayLimit | null): UseLimits => ({
  records: limit?.records ?? null,
  minutes: null,
  bytes: limit?.bytes ?? null,
});
