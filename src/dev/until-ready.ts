import { setTimeout } from 'node:timers/promises';

const INTERVAL_MS = 200;

/** Asks until the server answers. A slow one that still prints something is not given up: `heardAt` is when it last did. */
export async function untilReady(
  url: string,
  heardAt: () => number,
  stalledAfterMs: number,
): Promise<'ready' | 'stalled'> {
  while (Date.now() - heardAt() < stalledAfterMs) {
    const response = await fetch(url, { signal: AbortSignal.timeout(stalledAfterMs) }).catch(() => undefined);
    if (response?.ok) return 'ready';
    await setTimeout(INTERVAL_MS);
  }
  return 'stalled';
}
