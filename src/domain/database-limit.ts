const UNITS = { MB: 1_000_000, GB: 1_000_000_000 } as const;
/** The most that D1 holds in one database (developers.cloudflare.com/d1/platform/limits). */
const MAX_BYTES = 10 * UNITS.GB;

/** The limit of a configuration that names none: that of the paid plan. */
export const DEFAULT_DATABASE_LIMIT = '10GB';

/**
 * Parses the size limit of the database, such as `10GB` or `500MB` (1 MB = 1,000,000 bytes), into bytes. Without a
 * text: the default.
 */
export function parseDatabaseLimit(text = DEFAULT_DATABASE_LIMIT): number {
  const match = /^(\d{1,5})([MG]B)$/.exec(text.trim());
  const bytes = match ? Number(match[1]) * (match[2] === 'GB' ? UNITS.GB : UNITS.MB) : 0;
  if (bytes === 0 || bytes > MAX_BYTES) {
    throw new RangeError(
      `"${text}" is not the size limit of a D1 database; write 10GB on the paid plan, 500MB on the free plan, or another limit of 1MB–10GB`,
    );
  }
  return bytes;
}

/** The shares of the limit from which the operator is warned: early enough to act before writes fail. */
export const WARNED_FROM = [0.7, 0.9] as const;

/** How many of the shares in `WARNED_FROM` are reached: 0 for a normal size. */
export const warningLevel = (share: number) => WARNED_FROM.filter((from) => share >= from).length;
