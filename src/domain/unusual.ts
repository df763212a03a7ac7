// What makes logged time unusual. Administrators look at it before they approve the time.

/** A key's day is unusual from this many minutes on, if it exceeds the median of the key's days before so many times. */
export const LONG_DAY = { minutes: 600, timesMedian: 4 };
/** The median is of at most `max` days on which the key logged time. With fewer than `min`, no day is unusual. */
export const DAYS_BEFORE = { min: 5, max: 30 };
/** An entry above this many minutes is unusual. */
const LONG_ENTRY_MINUTES = 480;
/** Two entries with the same ticket and text within this time are unusual. */
export const REPEATED_MS = 15 * 60_000;

interface LoggedTime {
  minutes: number;
  isLongDay: boolean;
  /** 1 if another entry with the same ticket and text is within `REPEATED_MS`. */
  isRepeated: number;
  /** 1 if the credited technician is no longer one. */
  hasTechnicianLeft: number;
}

/** What is unusual about an entry, in the words that pages and files show. */
export const unusualOf = ({ minutes, isRepeated, isLongDay, hasTechnicianLeft }: LoggedTime): string[] => [
  ...(isLongDay ? ['long day of this key'] : []),
  ...(isRepeated === 1 ? ['same ticket and text within 15 minutes'] : []),
  ...(minutes > LONG_ENTRY_MINUTES ? ['more than 8 hours'] : []),
  ...(hasTechnicianLeft === 1 ? ['the technician has left'] : []),
];

/** The minutes of days as a statement returns them, between spaces. */
export const minutesOf = (days: string): number[] => days.split(' ').filter(Boolean).map(Number);

/** The median of the latest days with time before a day, the latest first; undefined for too few. */
export function usualMinutes(before: readonly number[]): number | undefined {
  const days = before.slice(0, DAYS_BEFORE.max).toSorted((a, b) => a - b);
  if (days.length < DAYS_BEFORE.min) return undefined;
  const [low = 0, high = 0] = [days[Math.ceil(days.length / 2) - 1], days[Math.floor(days.length / 2)]];
  return (low + high) / 2;
}

/** Whether a key's day with these minutes is unusual. `before`: the minutes of its latest days with time before. */
export function isLongDay(minutes: number, before: readonly number[]): boolean {
  const usual = usualMinutes(before);
  return usual !== undefined && minutes >= LONG_DAY.minutes && minutes > LONG_DAY.timesMedian * usual;
}
