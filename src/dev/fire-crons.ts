import { CRON_TRIGGERS } from '../jobs.ts';

const INTERVAL_MS = 30_000;
const INTERVALS_PER_HOUR = 120;

/**
 * Fires all cron triggers now and every hour, and the five-minute one every 30 s, because a developer waits for it. One
 * after the other: `wrangler dev` fires none.
 */
export function fireCronsUntil(ended: Promise<unknown>, baseUrl: string): void {
  let isRunning = true;
  let intervals = 0;
  const fire = async () => {
    const { frequent } = CRON_TRIGGERS;
    for (const cron of intervals++ % INTERVALS_PER_HOUR === 0 ? Object.values(CRON_TRIGGERS) : [frequent]) {
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
