import { describe, expect, test } from 'vitest';
import { elementsOf } from '../../support/page.ts';
import { makeSettings } from '../../support/settings.ts';
import { makeKey, makeOrganization, rotate, TIME } from '../../support/world.ts';

// The daily limits and today's use, as the pages show them.

type Settings = Awaited<ReturnType<typeof makeSettings>>;

/** The facts on the page of a key, by their names. */
async function factsOf({ get }: Settings, id: string): Promise<Record<string, string>> {
  const { text } = await get(`/keys/${id}`);
  const [names, values] = [await elementsOf(text, '.facts dt'), await elementsOf(text, '.facts dd')];
  return Object.fromEntries(names.map((name, i) => [name.text, values[i]?.text.replace(/\s+/g, ' ').trim() ?? '']));
}

/** The line about today in the list of keys. */
async function todayOf({ get }: Settings): Promise<string | undefined> {
  const lines = await elementsOf((await get('/keys')).text, 'main p');
  return lines.flatMap(({ text }) => /Today: .*/.exec(text)?.[0] ?? [])[0];
}

/** A text of 36,000 bytes. */
const LONG = '😀'.repeat(9_000);
const NO_LIMITS = { config: { dayLimits: { key: null, organization: null } } };

describe('the page of a key', () => {
  test("the page shows the limits for all keys, and the key's usage of them", async () => {
    const settings = await makeSettings();
    const { id, value } = await makeKey(settings.organization);
    expect(await factsOf(settings, id)).toMatchObject({
      'Daily limits': 'Those of all keys',
      Today: '0 new records, 0 minutes',
    });
    for (let i = 0; i < 4; i++) await settings.api.postNote(value, { message: LONG });
    await settings.api.postTime(value, { ...TIME, minutes: 90 });
    expect((await factsOf(settings, id))['Today']).toBe('5 new records, 90 minutes');
  });

  test('shows no minutes for a key that cannot log time', async () => {
    const settings = await makeSettings(NO_LIMITS);
    const { id, value } = await makeKey(settings.organization, { scopes: ['tickets:note:write'] });
    await settings.api.postNote(value);
    expect((await factsOf(settings, id))['Today']).toBe('1 new record');
  });

  test('the page shows the amount of text from half of its limit on', async () => {
    const day = { records: 20_000, bytes: 250_000 };
    const settings = await makeSettings({ config: { dayLimits: { key: day, organization: null } } });
    const { id, value } = await makeKey(settings.organization);
    const today = async () => (await factsOf(settings, id))['Today'];
    for (let i = 0; i < 3; i++) await settings.api.postNote(value, { message: LONG });
    expect(await today()).toBe('3 new records, 0 minutes');
    await settings.api.postNote(value, { message: LONG });
    expect(await today()).toBe('4 new records, 0 minutes, 0.1 of 0.3 MB of text');
  });

  test("the page shows the key's own limits, and its use with them", async () => {
    const settings = await makeSettings();
    const { id, value } = await makeKey(settings.organization, { dayLimit: { records: 50, minutes: 480 } });
    await settings.api.postTime(value, { ...TIME, minutes: 239 });
    expect((await factsOf(settings, id))['Today']).toBe('1 of 50 new records, 239 of 480 minutes');
    await settings.api.postTime(value, { ...TIME, minutes: 1 });
    expect(await factsOf(settings, id)).toMatchObject({
      'Daily limits': '50 new records, 480 minutes',
      Today: '2 of 50 new records, 240 of 480 minutes',
    });
  });

  test('the page counts all keys of a rotation together, and no other key', async () => {
    const settings = await makeSettings(NO_LIMITS);
    const { organization, api } = settings;
    const first = await makeKey(organization);
    const second = await rotate(organization, first.id, { grace: '1h' });
    const other = await makeKey(organization);
    const elsewhere = await makeKey(await makeOrganization());
    for (const { value } of [first, second, second, other, elsewhere]) await api.postNote(value);
    for (const { id } of [first, second])
      expect((await factsOf(settings, id))['Today']).toMatch(/^3 new records, .*with the other keys of its rotation/);
    expect((await factsOf(settings, other.id))['Today']).toBe('1 new record, 0 minutes');
  });
});

describe('the list of keys', () => {
  test("the list shows today's writes of all keys", async () => {
    const settings = await makeSettings();
    const { organization, api } = settings;
    for (let i = 0; i < 2; i++) {
      const { value } = await makeKey(organization);
      for (let j = 0; j < 3; j++) await api.postNote(value, { message: LONG });
    }
    // A change by an administrator has the totals of the day too.
    await makeKey(organization);
    expect(await todayOf(settings)).toBe('Today: 6 new records');
    const elsewhere = await makeSettings(NO_LIMITS);
    await makeKey(elsewhere.organization);
    expect(await todayOf(elsewhere)).toBe('Today: 0 new records');
  });
});

test("today ends at midnight in the organization's time zone", async () => {
  // 23:30 in New York: already the next day in UTC.
  let now = Date.parse('2027-03-22T03:30:00Z');
  const settings = await makeSettings({ timeZone: 'America/New_York', now: () => now });
  const { id, value } = await makeKey(settings.organization, {}, () => now);
  expect((await settings.api.postNote(value)).status).toBe(201);
  const used = async () => [(await factsOf(settings, id))['Today'], await todayOf(settings)];
  const one = [expect.stringMatching(/^1 new/), 'Today: 1 new record'];
  now += 29 * 60_000;
  expect(await used()).toEqual(one);
  now += 60_000;
  expect(await used()).toEqual([expect.stringMatching(/^0 new/), 'Today: 0 new records']);
});
