import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { daily } from '../src/daily.ts';
import { addDays, dateIn } from '../src/domain/calendar.ts';
import { reportingSize, withoutWrites } from './support/d1.ts';
import { loggedLines } from './support/searched-logs.ts';
import { makeKey, makeOrganization } from './support/world.ts';

const LIMIT = 10_000_000_000;
const sized = (bytes: number) => reportingSize(env.DB, () => bytes);

test('the daily task logs the size of the database', async () => {
  await daily(env.DB, LIMIT);
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
  await daily(sized(bytes), LIMIT);
  expect(loggedLines('database_size', level)).toEqual([{ event: 'database_size', bytes, share }]);
});

test('the share is that of the limit of the deployment', async () => {
  await daily(sized(450_000_000), 500_000_000);
  expect(loggedLines('database_size', 'error')).toEqual([{ event: 'database_size', bytes: 450_000_000, share: 0.9 }]);
});

test('the days of the ledger are kept for 400 days', async () => {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  const now = Date.parse('2027-06-30T03:17:00Z');
  const { id: idle } = await makeKey(organization);
  const day = (ago: number) => addDays(dateIn('UTC', now), -ago);
  await env.DB.batch(
    // More than one statement deletes.
    Array.from({ length: 1_300 }, (_, ago) =>
      env.DB.prepare('insert into key_days values (?1, ?2, ?3, ?2, 1, 0, 0, 1, 1, 1, 1, null)').bind(
        organization,
        id,
        day(ago),
      ),
    ),
  );
  await env.DB.prepare('insert into key_days values (?1, ?2, ?3, ?2, 1, 0, 0, 1, 1, 1, 1, null)')
    .bind(organization, idle, day(900))
    .run();
  await daily(env.DB, LIMIT, () => now);
  const { results } = await env.DB.prepare('select day from key_days where organization_id = ? order by day')
    .bind(organization)
    .all();
  // The latest day of a key stays, because it has its last write.
  expect(results).toHaveLength(402);
  expect(results.slice(0, 2)).toEqual([{ day: day(900) }, { day: day(400) }]);
});

test('the size of a full database is logged too, and the daily task fails', async () => {
  const message = 'D1_ERROR: Exceeded maximum DB size';
  await expect(daily(withoutWrites(sized(9_999_998_976), message), LIMIT)).rejects.toMatchObject({
    code: 'unavailable',
    cause: { message: 'D1 read_only: Exceeded maximum DB size' },
  });
  expect(loggedLines('database_size', 'error')).toHaveLength(1);
});
