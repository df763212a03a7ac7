import { expect, test } from 'vitest';
import { outcomeOf, parseRetryAfter } from '../../src/domain/post-outcome.ts';

const NOW = Date.parse('2026-11-22T08:00:00Z');
const HOUR_MS = 3_600_000;

test.each<[string | null, number]>([
  [null, 0],
  ['', 0],
  ['0', 0],
  ['120', 120_000],
  [' 7 ', 7_000],
  ['86400', 24 * HOUR_MS],
  ['999999999999', 24 * HOUR_MS],
  ['-5', 0],
  ['1.5', 0],
  ['1e3', 0],
  ['soon', 0],
  ['2027', 2_027_000],
  ['Sun, 22 Nov 2026 08:01:00 GMT', 60_000],
  ['Sun, 22 Nov 2026 07:00:00 GMT', 0],
  ['Sunday, 22-Nov-26 08:01:00 GMT', 60_000],
  ['Sun Nov 22 08:01:00 2026', 0],
  ['Mon, 22 Nov 2027 08:00:00 GMT', 24 * HOUR_MS],
  ['Sun, 22 Nov 2026 99:99:99 GMT', 0],
  ['2026-11-22T08:01:00Z', 0],
])('the Retry-After %j asks for %i ms', (text, ms) => {
  expect(parseRetryAfter(text, NOW)).toBe(ms);
});

test('only 2xx confirms a page, and only 410 stops the push', () => {
  for (let status = 200; status <= 599; status++) {
    const { result } = outcomeOf(status, null, NOW);
    expect(result, String(status)).toBe(status < 300 ? 'confirmed' : status === 410 ? 'gone' : 'failed');
  }
  const failed = { result: 'failed', failure: 'HTTP 503', retryAfterMs: 30_000, isTooLarge: false };
  expect(outcomeOf(503, '30', NOW)).toEqual(failed);
  for (const status of [408, 413, 504, 524]) expect(outcomeOf(status, null, NOW)).toMatchObject({ isTooLarge: true });
});
