import { TZDate } from '@date-fns/tz';

/** A calendar day, without daylight saving changes. */
export const DAY_MS = 24 * 3_600_000;

/** Whether the runtime knows this IANA time zone. It also knows offsets such as +05:30, which are refused. */
export function isTimeZone(name: string): boolean {
  if (/^[+-]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch (err) {
    if (err instanceof RangeError) return false;
    throw err;
  }
}

/** Remembers the latest result of `compute` for each time zone, and the key that it is for. */
function rememberLatest<Key, Result>(compute: (timeZone: string, key: Key) => Result) {
  const latest = new Map<string, { key: Key; result: Result }>();
  return (timeZone: string, key: Key): Result => {
    const known = latest.get(timeZone);
    if (known?.key === key) return known.result;
    const result = compute(timeZone, key);
    latest.set(timeZone, { key, result });
    return result;
  };
}

const MINUTE_MS = 60_000;

/** Offsets are whole minutes, so a date holds for the minute. */
const dateInMinute = rememberLatest((timeZone, minute: number) => {
  const local = new TZDate(minute * MINUTE_MS, timeZone);
  if (Number.isNaN(local.getFullYear())) throw new RangeError(`unknown time zone ${timeZone}`);
  const pad = (part: number, digits: number) => String(part).padStart(digits, '0');
  return `${pad(local.getFullYear(), 4)}-${pad(local.getMonth() + 1, 2)}-${pad(local.getDate(), 2)}`;
});

/** The date, `YYYY-MM-DD`, in a time zone at `now` (UTC milliseconds). @throws RangeError for an unknown zone */
export const dateIn = (timeZone: string, now: number): string => dateInMinute(timeZone, Math.floor(now / MINUTE_MS));

const endInZone = rememberLatest((timeZone, date: string) => {
  const [year = Number.NaN, month = Number.NaN, day = Number.NaN] = date.split('-').map(Number);
  return new TZDate(year, month - 1, day + 1, timeZone).getTime();
});

/** The instant (UTC milliseconds) at which a calendar date ends in a time zone: the start of the next day. */
export const endOfDate = (date: string, timeZone: string): number => endInZone(timeZone, date);

/** The instant (UTC milliseconds) at which a calendar date begins in a time zone. */
export function startOfDate(date: string, timeZone: string): number {
  return endOfDate(addDays(date, -1), timeZone);
}

/** A calendar date in words: `21 Nov 2026`. */
export const dateText = (date: string) =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(Date.parse(date));

/** The same day of a later year. In a year without 29 February, that date counts as 1 March. */
export function yearsLater(date: string, years: number): string {
  return `${Number(date.slice(0, 4)) + years}${date.slice(4)}`;
}

export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}
