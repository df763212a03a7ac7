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

const MINUTE_MS = 60_000;

/** The date in each time zone in the minute of the latest call: offsets are whole minutes. One entry for a zone. */
const latestDates = new Map<string, { minute: number; date: string }>();

/** The date, `YYYY-MM-DD`, in a time zone at `now` (UTC milliseconds). @throws RangeError for an unknown zone */
export function dateIn(timeZone: string, now: number): string {
  const minute = Math.floor(now / MINUTE_MS);
  const latest = latestDates.get(timeZone);
  if (latest?.minute === minute) return latest.date;
  const date = computeDateIn(timeZone, now);
  latestDates.set(timeZone, { minute, date });
  return date;
}

function computeDateIn(timeZone: string, now: number): string {
  const local = new TZDate(now, timeZone);
  if (Number.isNaN(local.getFullYear())) throw new RangeError(`unknown time zone ${timeZone}`);
  const pad = (part: number, digits: number) => String(part).padStart(digits, '0');
  return `${pad(local.getFullYear(), 4)}-${pad(local.getMonth() + 1, 2)}-${pad(local.getDate(), 2)}`;
}

/** The instant (UTC milliseconds) at which a calendar date ends in a time zone: the start of the next day. */
export function endOfDate(date: string, timeZone: string): number {
  const latest = latestEnds.get(timeZone);
  if (latest?.date === date) return latest.end;
  const end = computeEndOfDate(date, timeZone);
  latestEnds.set(timeZone, { date, end });
  return end;
}

/** The end of the latest date in each time zone. One entry for a zone. */
const latestEnds = new Map<string, { date: string; end: number }>();

function computeEndOfDate(date: string, timeZone: string): number {
  const [year = Number.NaN, month = Number.NaN, day = Number.NaN] = date.split('-').map(Number);
  return new TZDate(year, month - 1, day + 1, timeZone).getTime();
}

/** The instant (UTC milliseconds) at which a calendar date begins in a time zone. */
export function startOfDate(date: string, timeZone: string): number {
  return endOfDate(addDays(date, -1), timeZone);
}

/** The same day of a later year. In a year without 29 February, that date counts as 1 March. */
export function yearsLater(date: string, years: number): string {
  return `${Number(date.slice(0, 4)) + years}${date.slice(4)}`;
}

/** The same day of a later month, or the last day of a month that is too short. */
export function monthsLater(date: string, months: number): string {
  const [year = Number.NaN, month = Number.NaN, day = Number.NaN] = date.split('-').map(Number);
  const lastDay = new Date(Date.UTC(year, month + months, 0));
  return `${lastDay.toISOString().slice(0, 8)}${String(Math.min(day, lastDay.getUTCDate())).padStart(2, '0')}`;
}

export function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}
