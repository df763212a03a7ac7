import { afterEach, expect, test, vi } from 'vitest';
import { announce } from '../../src/ops/wait.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('a command that waits says for what, and every 15 seconds for how long, until that has ended', async () => {
  vi.useFakeTimers();
  const printed: string[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  const waiting = announce(
    (line) => printed.push(line),
    'Building eu',
    () => promise,
  );
  expect(printed.splice(0)).toEqual(['Building eu ...']);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(printed.splice(0)).toEqual(['Building eu: 15 s', 'Building eu: 30 s']);
  resolve('built');
  expect(await waiting).toBe('built');
  await vi.advanceTimersByTimeAsync(31_000);
  expect(printed).toEqual([]);
});
