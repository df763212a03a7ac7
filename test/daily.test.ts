import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { daily } from '../src/daily.ts';
import { aroundD1, withoutWrites } from './support/d1.ts';
import { loggedLines } from './support/searched-logs.ts';

/** The database, which reports this size. */
const sized = (size_after: number) =>
  aroundD1(env.DB, async (run) => (await run()).map((result) => ({ ...result, meta: { ...result.meta, size_after } })));

test('the daily task logs the size of the database', async () => {
  await daily(env.DB);
  const [line] = loggedLines('database_size');
  expect(line).toEqual({ event: 'database_size', bytes: expect.any(Number), share: expect.any(Number) });
  expect(line?.['bytes']).toBeGreaterThan(10_000);
});

test.each([
  [6_999_999_999, 'log', 0.7],
  [7_000_000_000, 'warn', 0.7],
  [8_999_949_999, 'warn', 0.9],
  [9_000_000_000, 'error', 0.9],
  [9_999_998_976, 'error', 1],
])('a size of %i bytes is logged as %s', async (bytes, level, share) => {
  await daily(sized(bytes));
  expect(loggedLines('database_size', level)).toEqual([{ event: 'database_size', bytes, share }]);
});

test('the size of a full database is logged too, and the daily task fails', async () => {
  const message = 'D1_ERROR: Exceeded maximum DB size';
  await expect(daily(withoutWrites(sized(9_999_998_976), message))).rejects.toMatchObject({
    code: 'unavailable',
    cause: { message: 'D1 read_only: Exceeded maximum DB size' },
  });
  expect(loggedLines('database_size', 'error')).toHaveLength(1);
});
