import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { elementsOf } from '../../support/page.ts';
import { copyKey, makeSettings } from '../../support/settings.ts';
import { makeKey, TIME } from '../../support/world.ts';

const DAY = Date.parse('2027-11-16T12:00:00Z');

/** An organization whose key logged 30 minutes on each of six days, and then 2,000 on one. */
async function makeLongDay() {
  const clock = { now: DAY - 6 * DAY_MS };
  const settings = await makeSettings({ now: () => clock.now });
  const { organization, api, get, base } = settings;
  const key = await makeKey(organization, { name: 'Spike' }, () => clock.now);
  for (; clock.now < DAY; clock.now += DAY_MS) await api.postTime(key.value, TIME);
  for (const minutes of [1_000, 1_000]) expect((await api.postTime(key.value, { ...TIME, minutes })).status).toBe(201);
  const tiles = async () =>
    (await elementsOf((await get('/keys')).text, '.attention a'))
      .filter(({ text }) => !text.includes('for approval'))
      .map(({ text, attributes }) => [
        text.trim(),
        String(attributes['href']).replace(base, '').replaceAll('&amp;', '&'),
      ]);
  const one = (sql: string) => env.DB.prepare(sql).bind(organization).first<number>('n');
  return { ...settings, key, clock, tiles, one };
}

test('a day of unusually much time needs attention for seven days, with the minutes of the ledger', async () => {
  const { key, clock, tiles, get, one } = await makeLongDay();
  const tile = [
    '1 key logged 2,000 minutes on 16 Nov 2027, usually 30',
    `/time?key=${key.id}&from=2027-11-16&to=2027-11-16`,
  ];
  expect(await tiles()).toEqual([tile]);
  const ofDay = "select sum(minutes) as n from time_entries where organization_id = ? and work_date = '2027-11-16'";
  expect(await one(ofDay)).toBe(2_000);
  expect((await elementsOf((await get(tile[1] ?? '')).text, 'tbody tr')).length).toBe(2);
  const total = await one('select sum(minutes) as n from time_entries where organization_id = ?');
  expect((await elementsOf((await get('/keys')).text, '.keys td .minor')).map(({ text }) => text)).toContain(
    `${total?.toLocaleString('en')} min`,
  );
  clock.now = Date.parse('2027-11-22T23:59:59Z');
  expect(await tiles()).toEqual([tile]);
  clock.now += 1_000;
  expect(await tiles()).toEqual([]);
});

test('several days are counted together, and a day ends when all of its time is decided', async () => {
  const { organization, key, clock, tiles, post } = await makeLongDay();
  clock.now += DAY_MS;
  await copyKey(organization, key.id, { prefix: 'other-', count: 2 });
  await env.DB.prepare(
    `insert into key_days select d.organization_id, k.id, d.day, k.id, d.notes, d.time_entries, d.minutes, d.bytes, d.first_seq, d.last_seq, d.last_at, null
     from key_days d join api_keys k on k.organization_id = d.organization_id where d.organization_id = ? and k.id like 'other-%'`,
  )
    .bind(organization)
    .run();
  expect(await tiles()).toEqual([['3 days with unusually much time', '/time?unusual=yes']]);
  const { results } = await env.DB.prepare('select id from time_entries where organization_id = ?')
    .bind(organization)
    .all<{ id: string }>();
  await post('/time/decide', { decision: 'APPROVED', entry: results.map(({ id }) => id) });
  // A decision moves the mark past what was decided before it.
  await post('/time/decide', { decision: 'APPROVED', entry: results.map(({ id }) => id) });
  expect(await tiles()).toEqual([]);
});
