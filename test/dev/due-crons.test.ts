import { afterEach, expect, test, vi } from 'vitest';
import { dueCrons, fireCronsUntil } from '../../src/dev/due-crons.ts';
import { CRON_TRIGGERS } from '../../src/jobs.ts';

const { frequent, hourly, daily } = CRON_TRIGGERS;
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const at = (time: string) => Date.parse(`2026-11-22T${time}Z`);

test('a local run fires every trigger after its start, and later each trigger when it is due', () => {
  expect(dueCrons(undefined, at('10:00:00'))).toEqual([frequent, hourly, daily]);
  expect(dueCrons(at('10:00:00'), at('10:00:30'))).toEqual([frequent]);
  expect(dueCrons(at('10:46:45'), at('10:47:15'))).toEqual([frequent, hourly]);
  expect(dueCrons(at('10:47:15'), at('10:47:45'))).toEqual([frequent]);
  expect(dueCrons(at('03:16:59'), at('03:17:29'))).toEqual([frequent, daily]);
});

test('a trigger that was due during sleep of the machine is fired once', () => {
  expect(dueCrons(at('02:50:00'), at('10:00:00'))).toEqual([frequent, hourly, daily]);
  expect(dueCrons(at('10:00:00'), at('10:00:30'))).toEqual([frequent]);
  expect(dueCrons(at('23:59:50'), at('23:59:59') + 20_000)).toEqual([frequent]);
});

test('a local run fires the five-minute trigger every 30 seconds until it ends', async () => {
  vi.useFakeTimers({ now: at('10:00:00') });
  const fired: (string | null)[] = [];
  vi.stubGlobal('fetch', async (address: string) => {
    fired.push(new URL(address).searchParams.get('cron'));
    return new Response();
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  fireCronsUntil(promise, 'http://localhost:8787');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fired).toEqual([frequent, hourly, daily, frequent, frequent]);
  resolve();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fired).toHaveLength(5);
});
