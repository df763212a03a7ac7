import { DAY_MS } from '../domain/calendar.ts';
import { CRON_TRIGGERS } from '../jobs.ts';

const HOUR_MS = 60 * 60_000;
/** How often a local run looks for due cron triggers. */
const INTERVAL_MS = 30_000;

/**
 * The cron triggers that a local run fires at `now`: the five-minute one always, because a developer
 * waits for it; the others if they were due since `before`, or if that is undefined. UTC milliseconds.
 */
export function dueCrons(before: number | undefined, now: number): string[] {
  const { frequent, hourly, daily } = CRON_TRIGGERS;
  return [frequent, ...[hourly, daily].filter((cron) => before === undefined || lastDue(cron, now) > before)];
}

/** Fires the due cron triggers now and then every 30 s, one after the other: `wrangler dev` fires none. */
export function fireCronsUntil(ended: Promise<unknown>, baseUrl: string): void {
  let isRunning = true;
  let before: number | undefined;
  const fire = async () => {
    const now = Date.now();
    const due = dueCrons(before, now);
    before = now;
    for (const cron of due) {
      const address = `${baseUrl}/cdn-cgi/handler/scheduled?cron=${encodeURIComponent(cron)}`;
      const response = await fetch(address).catch(() => undefined);
      if (isRunning && !response?.ok) console.error(`The jobs of the cron trigger ${cron} failed.`);
    }
  };
  let firing = fire();
  const timer = setInterval(() => {
    firing = firing.then(fire);
  }, INTERVAL_MS);
  void ended.then(() => {
    isRunning = false;
    clearInterval(timer);
  });
}

/** When a trigger was last due. Of its fields, only the minute and the hour are read. */
function lastDue(cron: string, now: number): number {
  const [minute = '', hour = ''] = cron.split(' ');
  const at = new Date(now);
  at.setUTCMinutes(Number(minute), 0, 0);
  if (hour !== '*') at.setUTCHours(Number(hour));
  return at.getTime() <= now ? at.getTime() : at.getTime() - (hour === '*' ? HOUR_MS : DAY_MS);
}
