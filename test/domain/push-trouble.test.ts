import { expect, test } from 'vitest';
import { troubleOf } from '../../src/domain/push-trouble.ts';

const NOW = Date.parse('2026-11-22T08:00:00Z');

test('administrators see a failing push after five minutes, and a stopped one immediately', () => {
  const failing = { failingSince: NOW, failure: 'HTTP 500', stoppedAt: null };
  expect([299_999, 300_000].map((ms) => troubleOf(failing, NOW + ms))).toEqual([undefined, failing]);
  const stopped = { ...failing, failure: 'HTTP 410', stoppedAt: NOW };
  expect(troubleOf(stopped, NOW)).toEqual(stopped);
  expect(troubleOf({ failingSince: null, failure: null, stoppedAt: null }, NOW)).toBeUndefined();
});
