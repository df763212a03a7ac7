import { afterEach, expect, test, vi } from 'vitest';
import { fireCronsUntil } from '../../src/dev/fire-crons.ts';
import { CRON_TRIGGERS } from '../../src/jobs.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('a local run fires the five-minute trigger every 30 seconds and all triggers at the start, until it ends', async () => {
  vi.useFakeTimers();
  const { frequent, hourly, daily } = CRON_TRIGGERS;
  const fired: (string | null)[] = [];
  vi.stubGlobal('fetch', async (address: string) => {
    fired.push(new URL(address).searchParams.get('cron'));
    return new Response();
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  fireCronsUntil(promise, 'http://localhost:8787');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fired.splice(0)).toEqual([frequent, hourly, daily, frequent, frequent]);
  resolve();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fired).toEqual([]);
});
