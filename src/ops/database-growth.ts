import { addDays, DAY_MS, dateIn } from '../domain/calendar.ts';

/** Over how many days, today included, the growth of the text is measured. */
export const GROWTH_DAYS = 30;
/** With less than a week, working days and weekends would not both be in it. */
export const MIN_GROWTH_DAYS = 7;
/** A later date would say nothing. */
const MAX_DAYS_LEFT = 100 * 365;

/** The first day (`YYYY-MM-DD`, UTC) that counts for the growth at `now` (UTC milliseconds). */
export function growthSince(now: number): string {
  return addDays(dateIn('UTC', now), 1 - GROWTH_DAYS);
}

/**
 * How many of the days that count for the growth the ledger covers, the part of today included: at least 1, so that the
 * first hours are not extrapolated. `firstDay` is the first day in the ledger.
 */
export function coveredDays(firstDay: string, now: number): number {
  const since = growthSince(now);
  const first = firstDay > since ? firstDay : since;
  return Math.max(1, (now - Date.parse(`${first}T00:00:00Z`)) / DAY_MS);
}

/** When the database is full: `on` a date in UTC, or why there is no date. */
export type FullDate =
  | { status: 'on'; date: string }
  | { status: 'full' | 'too_early' | 'not_growing' | 'not_for_a_century' };

/** The ratio of `size` to the `text` of the ledger stays; `recent` of it was written in `days` days. All in bytes. */
export function fullDate(
  { size, limit, text, recent, days }: { size: number; limit: number; text: number; recent: number; days: number },
  now: number,
): FullDate {
  if (size >= limit) return { status: 'full' };
  if (days < MIN_GROWTH_DAYS) return { status: 'too_early' };
  if (recent === 0) return { status: 'not_growing' };
  const growth = (size / text) * (recent / days);
  const daysLeft = Math.floor((limit - size) / growth);
  if (daysLeft > MAX_DAYS_LEFT) return { status: 'not_for_a_century' };
  return { status: 'on', date: addDays(dateIn('UTC', now), daysLeft) };
}
