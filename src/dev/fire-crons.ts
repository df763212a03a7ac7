import { CRON_TRIGGERS } from '../jobs.ts';

const INTERVAL_MS = 30_000;

/**
 * Fires all cron triggers now, and the five-minute one every 30 s, because a developer waits for it. One after the other:
 * `wrangler dev` fires none.
 */
export function fireCronsUntil(ended: Promise<unknown>, baseUrl: string): void {
  let isRunning = true;
  const fire = async (crons: readonly string[]) => {
    for (const cron of crons) {
      const address = `${baseUrl}/cdn-cgi/handler/scheduled?cron=${encodeURIComponent(cron)}`;
      const response = await fetch(address).catch(() => undefined);
      if (isRunning && !response?.ok) console.error(`The jobs of the cron trigger ${cron} failed.`);
    }
  };
  let firing = fire(Object.values(CRON_TRIGGERS));
  const timer = setInterval(() => {
    firing = firing.then(() => fire([CRON_TRIGGERS.frequent]));
  }, INTERVAL_MS);
  void ended.then(() => {
    isRunning = false;
    clearInterval(timer);
  });
}
