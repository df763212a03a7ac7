/** The shortest retention in days: readers of the feed that confirm nothing have this long. The database has the same rule. */
const MIN_KEEP_DAYS = 180;

/** Parses how many days records are kept at least; undefined for an empty text: they are kept permanently. */
export function parseKeepDays(text: string): number | undefined {
  if (text.trim() === '') return undefined;
  const days = /^\d{1,5}$/.test(text.trim()) ? Number(text) : 0;
  if (days >= MIN_KEEP_DAYS) return days;
  throw new RangeError(
    `"${text}" is not a number of days from ${MIN_KEEP_DAYS} on; write ${MIN_KEEP_DAYS} or more, or leave it empty to keep records permanently`,
  );
}
