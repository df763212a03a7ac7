import { DAY_MS } from '../domain/calendar.ts';
import { CRON_TRIGGERS } from '../jobs.ts';

const HOUR_MS = 60 * 60_000;

/**
 * The cron triggers that a local run fires at `now`: the five-minute one always, because a developer
 * waits for it; the others if they were due since `before`, or if that is undefined. UTC milliseconds.
 */
export function dueCrons(before: number | undefined, now: number): string[] {
  const { sweep, hourly, daily } = CRON_TRIGGERS;
  return [sweep, ...[hourly, daily].filter((cron) => before === undefined || lastDue(cron, now) > before)];
}

/** When a trigger was last due. Of its fields, only the minute and the hour are read. */
function lastDue(cron: string, now: number): number {
  const [minute = '', hour = ''] = cron.split(' ');
  const at = new Date(now);
  at.setUTCMinutes(Number(minute), 0, 0);
  if (hour !== '*') at.setUTCHours(Number(hour));
  return at.getTime() <= now ? at.getTime() : at.getTime() - (hour === '*' ? HOUR_MS : DAY_MS);
}
