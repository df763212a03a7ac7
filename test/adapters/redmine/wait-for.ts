import { setTimeout as sleep } from 'node:timers/promises';

const WAIT_LIMIT_MS = 300_000;

/** Waits until it is found. */
export async function waitFor<Found>(what: string, find: () => Promise<Found | undefined>): Promise<Found> {
  const until = Date.now() + WAIT_LIMIT_MS;
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    if (Date.now() > until) throw new Error(`${what}: not within ${WAIT_LIMIT_MS / 1000} s`);
    await sleep(100);
  }
}
