import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { redactRecord } from '../../../src/services/work/record-services.ts';
import { countD1 } from '../../support/d1.ts';
import { countElements, elementsOf } from '../../support/page.ts';
import { makeSettings } from '../../support/settings.ts';
import { asOperator, makeKey, TIME } from '../../support/world.ts';

/** How many bars the charts have for a kind of record. */
const bars = async (page: string, kind: string) =>
  (await elementsOf(page, `.plot .fill.${kind}`)).flatMap(({ attributes }) => attributes['d']?.match(/M/g) ?? [])
    .length;

describe('the page of a key', () => {
  test('shows the usage on each of 30 days, in charts, with the numbers of each day', async () => {
    let now = Date.parse('2027-03-20T12:00:00Z');
    const settings = await makeSettings({ now: () => now });
    const { id, value } = await makeKey(settings.organization, {}, () => now);
    await settings.api.postNote(value);
    await settings.api.postNote(value);
    now += 2 * 24 * 3_600_000;
    await settings.api.postNote(value);
    await settings.api.postTime(value, { ...TIME, minutes: 90 });
    const { text } = await settings.get(`/keys/${id}`);
    // The day with time has a bar in both charts.
    expect([await bars(text, 'note'), await bars(text, 'time_entry')]).toEqual([2, 2]);
    const labels = (await elementsOf(text, '.plot svg')).map(({ attributes }) => attributes['aria-label']);
    expect(labels).toEqual(['Writes per day: at most 2', 'Minutes per day: at most 90']);
    // The days of the activity are below its heading.
    expect([await countElements(text, '.log h2'), await countElements(text, '.log h3')]).toEqual([0, 2]);
    const days = (await elementsOf(text, '.plot title')).map((title) => title.text);
    expect([days.length, days[27], days[29], days[59]]).toEqual([
      60,
      '20 Mar 2027, Internal notes: 2, Time entries: 0',
      '22 Mar 2027, Internal notes: 1, Time entries: 1',
      '22 Mar 2027, Minutes: 90',
    ]);
    // On the last of the 30 days, and one day later.
    now += 27 * 24 * 3_600_000;
    expect(await bars((await settings.get(`/keys/${id}`)).text, 'note')).toBe(2);
    now += 23 * 3_600_000;
    expect(await bars((await settings.get(`/keys/${id}`)).text, 'note')).toBe(1);
  });

  test('draws no chart before the first write, and no minutes of a key that cannot log time', async () => {
    const settings = await makeSettings();
    const { id, value } = await makeKey(settings.organization, { scopes: ['tickets:note:write'] });
    expect(await countElements((await settings.get(`/keys/${id}`)).text, '.plot')).toBe(0);
    await settings.api.postNote(value);
    const labels = await elementsOf((await settings.get(`/keys/${id}`)).text, '.plot svg');
    expect(labels.map(({ attributes }) => attributes['aria-label'])).toEqual(['Writes per day: at most 1']);
  });

  test('draws the own limits of the key that a day came near, and marks the days that reached one', async () => {
    const settings = await makeSettings();
    const dayLimit = { records: 2, minutes: 1_000 };
    const { id, value } = await makeKey(settings.organization, { dayLimit });
    const labelsAndFull = async () => {
      const { text } = await settings.get(`/keys/${id}`);
      const labels = (await elementsOf(text, '.plot svg')).map(({ attributes }) => attributes['aria-label']);
      return [labels, await countElements(text, '.plot .limit'), await countElements(text, '.plot .full')];
    };
    await settings.api.postNote(value);
    expect(await labelsAndFull()).toEqual([['Writes per day: at most 1, with a limit of 2'], 1, 0]);
    await settings.api.postTime(value, { ...TIME, minutes: 90 });
    const both = ['Writes per day: at most 2, with a limit of 2', 'Minutes per day: at most 90'];
    expect(await labelsAndFull()).toEqual([both, 1, 1]);
  });

  test.each([
    [14, 1],
    [15, 0],
  ])('a key that expires in %i days is asked to be rotated once: %i', async (days, banners) => {
    const now = Date.parse('2027-03-20T12:00:00Z');
    const { organization, get } = await makeSettings({ now: () => now });
    const expires = new Date(now + days * 24 * 3_600_000).toISOString();
    const { id } = await makeKey(organization, { expires }, () => now);
    const { text } = await get(`/keys/${id}`);
    expect(await countElements(text, '.banner.warning form[action$="/rotate"]')).toBe(banners);
    expect(await countElements(text, 'form[action$="/rotate"]')).toBe(1);
    // The list counts it in its filter and in what needs attention.
    const list = (await get('/keys')).text;
    expect(list.includes('1 key expires within 14 days')).toBe(banners === 1);
    expect(await countElements(list, '.state.expiring')).toBe(banners);
  });

  test('shows the texts that the key wrote, except for redacted texts and keys in them', async () => {
    const { organization, api, get } = await makeSettings();
    const { id, value } = await makeKey(organization);
    const note = await (await api.postNote(value, { message: 'Secret of a patient' })).json<{ note: { id: string } }>();
    await api.postTime(value, { ...TIME, description: `Entered ${value} in n8n` });
    await api.postNote(value, { message: 'x'.repeat(300) });
    await redactRecord(asOperator(), { organization, kind: 'note', id: note.note.id, by: 'Ada' });
    const { text } = await get(`/keys/${id}`);
    expect(text).not.toContain('Secret of a patient');
    expect(text).not.toContain(value);
    const lines = (await elementsOf(text, '.log .line')).map((line) => line.text);
    expect(lines).toEqual([
      'x'.repeat(120),
      expect.stringMatching(/^30 min, billable, at 150.00\/h, credited to Automation: Entered .*\[removed\] in n8n$/),
      '[redacted]',
      '',
    ]);
    expect((await elementsOf(text, '.entry .text')).map((one) => one.text)).toContain(`${'x'.repeat(280)}…`);
  });

  test('reads a limited number of rows, however much the key has written', async () => {
    const { db, calls } = countD1(env.DB);
    const { organization, get } = await makeSettings({ bindings: { DB: db } });
    const { id } = await makeKey(organization);
    const write = (from: number) =>
      env.DB.batch([
        env.DB.prepare(
          `insert into audit_log select ?1, value, 1, 'api_key', ?2, 'n8n', 'note.created', 'r' || value, '1001', 'q', null, null, null, null, '', 0, 0
           from json_each(?3)`,
        ).bind(organization, id, JSON.stringify(Array.from({ length: 3_000 }, (_, i) => from + i))),
        env.DB.prepare(
          `insert into key_days select ?1, ?2, date('now', '-' || value || ' days'), ?2, 8, 0, 0, 10, 1, null
           from json_each(?3) where true on conflict do nothing`,
        ).bind(organization, id, JSON.stringify(Array.from({ length: 400 }, (_, day) => day))),
      ]);
    const cost = async () => {
      calls.length = 0;
      expect((await get(`/keys/${id}`)).status).toBe(200);
      const ofPage = calls.slice(1);
      return { calls: ofPage.length, rows: ofPage.reduce((sum, { rowsRead }) => sum + rowsRead, 0) };
    };
    await write(2);
    const before = await cost();
    // One of them is that of the refused requests, at most 51.
    expect(before.calls).toBe(6);
    // The workflows are found in the latest 1,000 writes: two rows for each, of the index and of the table.
    expect(before.rows).toBeLessThanOrEqual(3_100);
    await write(3_002);
    const after = await cost();
    expect(after.rows).toBeLessThanOrEqual(before.rows + 20);
  });
});
