import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { addDays, dateIn } from '../../../src/domain/calendar.ts';
import { CRON_TRIGGERS, runJobs } from '../../../src/jobs.ts';
import { forgetOldAddresses, forgetOldDays } from '../../../src/services/forget.ts';
import { config, makeKey, makeOrganization, rowsOf } from '../../support/world.ts';
import { archive, releaseAll } from './support.ts';

// Days of the ledger can be deleted after their audit rows are archived.

const NOW = Date.parse('2027-06-30T03:17:00Z');
/** Runs the jobs of the daily trigger. */
const daily = () =>
  runJobs(CRON_TRIGGERS.daily, {
    db: env.DB,
    config: config({ databaseLimit: 10_000_000_000 }),
    contributions: [],
    now: () => NOW,
  });

test('the days of the ledger are kept for 400 days, and as long as their audit rows are in the database', async () => {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  const { id: idle } = await makeKey(organization);
  const day = (ago: number) => addDays(dateIn('UTC', NOW), -ago);
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
  const days = async () => (await rowsOf('key_days', organization)).length;
  await daily();
  expect(await days()).toBe(1_301);
  await releaseAll(organization);
  expect((await archive(organization)).status).toBe('archived');
  await daily();
  const { results } = await env.DB.prepare('select day from key_days where organization_id = ? order by day')
    .bind(organization)
    .all();
  // The latest day of a key stays, because it has its last write.
  expect(results).toHaveLength(402);
  expect(results.slice(0, 2)).toEqual([{ day: day(900) }, { day: day(400) }]);
});

test('a run does a limited part of the work, and the next ones the rest', async () => {
  const organization = await makeOrganization();
  const { id } = await makeKey(organization);
  await makeKey(organization);
  await releaseAll(organization);
  await archive(organization);
  const ctx = { db: env.DB, now: () => NOW, deadlineAt: Date.now() + 30_000, requestId: 'daily' };
  const limits = { rows: 3, chunks: 2 };
  const insert = (sql: string, values: readonly (string | number)[]) =>
    env.DB.prepare(sql).bind(organization, id, ...values);
  await env.DB.batch([
    ...Array.from({ length: 15 }, (_, index) =>
      insert("insert into refused_uses values (?1, ?2, ?3, 1, 0, ?4, '192.0.2.1', null, null)", [
        `reason-${'abcdefghijklmno'[index]}`,
        index < 13 ? index : NOW,
      ]),
    ),
    ...Array.from({ length: 14 }, (_, index) =>
      insert('insert into key_days values (?1, ?2, ?3, ?2, 1, 0, 0, 1, 1, 1, 1, null)', [
        addDays(dateIn('UTC', NOW), index - 800),
      ]),
    ),
  ]);
  const left = async () => {
    const uses = await rowsOf('refused_uses', organization);
    return [
      uses.filter(({ source_address }) => source_address !== null).length,
      (await rowsOf('key_days', organization)).length,
    ];
  };
  const results: unknown[] = [];
  for (let run = 0; run < 4; run++) {
    const done = [await forgetOldAddresses(ctx, limits), await forgetOldDays(ctx, limits)];
    results.push([...done, ...(await left())]);
  }
  // Two addresses are recent, and the latest day of the key stays.
  expect(results).toEqual([
    [false, false, 9, 8],
    [false, false, 3, 2],
    [true, true, 2, 1],
    [true, true, 2, 1],
  ]);
});
