import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Deadlines, withDeadline } from '../../src/lib/deadline.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

const never = () => new Promise<never>(() => {});

test('each wait ends at its own deadline, in whatever order they begin', async () => {
  const shared = new Deadlines();
  const start = Date.now();
  const ended: string[] = [];
  const wait = (ms: number) =>
    withDeadline(never(), ms, shared).catch((err: Error) => ended.push(`${Date.now() - start}: ${err.message}`));
  const waits = [wait(1_000), wait(8_000), wait(300), wait(1_000)];
  await vi.advanceTimersByTimeAsync(500);
  waits.push(wait(2_000));
  await vi.advanceTimersByTimeAsync(10_000);
  await Promise.all(waits);
  const at = (time: number, ms: number) => `${time}: no response within ${ms} ms`;
  expect(ended).toEqual([at(300, 300), at(1_000, 1_000), at(1_000, 1_000), at(2_500, 2_000), at(8_000, 8_000)]);
  expect(vi.getTimerCount()).toBe(0);
});

test('what has settled is passed on, and a wait by itself leaves no timer', async () => {
  const shared = new Deadlines();
  await expect(withDeadline(Promise.resolve(1), 1_000, shared)).resolves.toBe(1);
  await expect(withDeadline(Promise.reject(new Error('lost')), 1_000, shared)).rejects.toThrow('lost');
  expect(vi.getTimerCount()).toBe(1);
  await expect(withDeadline(Promise.resolve(2), 1_000)).resolves.toBe(2);
  expect(vi.getTimerCount()).toBe(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(vi.getTimerCount()).toBe(0);
});
