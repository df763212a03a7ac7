import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { DayLimits } from '../../src/domain/day-limit.ts';
import { readAuditLog } from '../../src/services/audit/read-audit-log.ts';
import { getOwnKey } from '../../src/services/keys/read-keys.ts';
import { inconsistencies } from '../support/ledger.ts';
import { makeSettings } from '../support/settings.ts';
import {
  asAdmin,
  changeOrganization,
  makeApi,
  makeKey,
  makeOrganization,
  problemOf,
  rotate,
  rowsOf,
  TIME,
  UNLIMITED,
} from '../support/world.ts';

// The daily limits through the API. Only the tests advance the clock.

const NOON = Date.parse('2027-03-13T17:00:00Z');

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(NOON);
});
afterEach(() => {
  vi.useRealTimers();
});

const apiWith = (dayLimits: Partial<DayLimits>) =>
  makeApi({ config: { ...UNLIMITED, dayLimits: { key: null, organization: null, ...dayLimits } } });

let texts = 0;
const text = (length = 10) => `${++texts}`.padEnd(length, 'x');

/** Sends notes one after another. Returns the status of each. */
async function notes(api: ReturnType<typeof makeApi>, key: string, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) statuses.push((await api.postNote(key, { message: text() })).status);
  return statuses;
}

describe('the daily limit of a key', () => {
  test("the limit admits exactly its records until midnight in the organization's zone", async () => {
    const organization = await makeOrganization({ timeZone: 'America/New_York' });
    const { value: key, id } = await makeKey(organization);
    const api = apiWith({ key: { records: 3, bytes: 1_000_000 } });
    expect(await notes(api, key, 3)).toEqual([201, 201, 201]);

    const refused = await api.postTime(key, TIME, { 'Idempotency-Key': 'triage:evt-1' });
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      code: 'daily_limit_reached',
      'violated-policies': ['key-day'],
    });
    // Noon in New York: 12 hours until midnight.
    expect(refused.headers.get('Retry-After')).toBe(String(12 * 3_600));
    expect(refused.headers.get('RateLimit-Policy')).toMatch(/^"key";q=10000;w=1, "key-day";q=3;w=86400$/);
    expect(refused.headers.get('RateLimit')).toMatch(/, "key-day";r=0;t=43200$/);
    await api.settled();
    expect(await rowsOf('refused_uses', organization)).toMatchObject([{ key_id: id, reason: 'daily_limit_reached' }]);

    vi.setSystemTime(NOON + 12 * 3_600_000 - 1);
    expect(await problemOf(api.postNote(key))).toBe('429 daily_limit_reached');
    vi.setSystemTime(NOON + 12 * 3_600_000);
    // The Idempotency-Key was still free.
    expect((await api.postTime(key, TIME, { 'Idempotency-Key': 'triage:evt-1' })).status).toBe(201);
  });

  test('every response to a write shows the limit', async () => {
    const { value: key } = await makeKey(await makeOrganization());
    const api = apiWith({ key: { records: 5, bytes: 1_000_000 } });
    const left = async (answer: Promise<Response>) =>
      /"key-day";r=(\d+)/.exec((await answer).headers.get('RateLimit') ?? '')?.[1];
    const keyed = { 'Idempotency-Key': 'k' };
    expect(await left(api.postTime(key, TIME, keyed))).toBe('4');
    expect(await left(api.postNote(key))).toBe('3');
    expect(await left(api.postTime(key, TIME, keyed))).toBe('3');
    expect(await left(api.postNote(key, undefined, {}, '9999'))).toBe('3');
    // A ping writes nothing, so it does not ask.
    expect(await left(api.send('/api/v1/ping', { key }))).toBeUndefined();
  });

  test('the limit is exact if several isolates reach it simultaneously', async () => {
    const organization = await makeOrganization();
    const { value: key } = await makeKey(organization);
    const limits = { key: { records: 17, bytes: 1_000_000 } };
    const apis = [apiWith(limits), apiWith(limits), apiWith(limits)];
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => apis[i % 3]?.postNote(key, { message: text() })),
    );
    expect(answers.filter((answer) => answer?.status === 201)).toHaveLength(17);
    expect(answers.filter((answer) => answer?.status === 429)).toHaveLength(43);
    expect(await rowsOf('notes', organization)).toHaveLength(17);
    expect(await inconsistencies(env.DB, organization)).toEqual([]);
  });

  test('the limit counts bytes of UTF-8, and admits a shorter text that still fits', async () => {
    const { value: key } = await makeKey(await makeOrganization());
    const api = apiWith({ key: { records: 100, bytes: 1_000 } });
    expect((await api.postNote(key, { message: '😀'.repeat(200) })).status).toBe(201);
    expect(await problemOf(api.postNote(key, { message: 'x'.repeat(201) }))).toBe('429 daily_limit_reached');
    expect((await api.postNote(key, { message: 'x'.repeat(200) })).status).toBe(201);
    expect(await problemOf(api.postNote(key, { message: 'x' }))).toBe('429 daily_limit_reached');
  });

  test('the keys of a rotation chain share the limit', async () => {
    const organization = await makeOrganization();
    const first = await makeKey(organization);
    const api = apiWith({ key: { records: 3, bytes: 1_000_000 } });
    expect(await notes(api, first.value, 2)).toEqual([201, 201]);
    const second = await rotate(organization, first.id, { grace: '1h' });
    expect(await notes(api, second.value, 2)).toEqual([201, 429]);
    expect(await notes(api, first.value, 1)).toEqual([429]);
    const other = await makeKey(organization);
    expect(await notes(api, other.value, 1)).toEqual([201]);
    expect(await inconsistencies(env.DB, organization)).toEqual([]);
  });

  test('the limit never refuses a replay', async () => {
    const { value: key } = await makeKey(await makeOrganization());
    const api = apiWith({ key: { records: 1, bytes: 1_000_000 } });
    expect((await api.postTime(key, TIME, { 'Idempotency-Key': 'k' })).status).toBe(201);
    expect((await api.postTime(key, TIME, { 'Idempotency-Key': 'k' })).status).toBe(200);
    expect((await api.postTime(key, { ...TIME, minutes: 5 }, { 'Idempotency-Key': 'k' })).status).toBe(200);
  });

  test('the limit is checked before the ticket, and after the key and the body', async () => {
    const organization = await makeOrganization();
    const { value: key } = await makeKey(organization);
    const { value: timeOnly } = await makeKey(organization, { scopes: ['tickets:time:write'] });
    const api = apiWith({ key: { records: 1, bytes: 1_000_000 }, organization: { records: 1, bytes: 1_000_000 } });
    await api.postNote(key);
    expect(await problemOf(api.postNote(key, undefined, {}, '9999'))).toBe('429 daily_limit_reached');
    expect(await problemOf(api.postNote(key, { message: '' }))).toBe('422 validation_failed');
    const unauthorized = await api.postNote(timeOnly);
    expect([unauthorized.status, unauthorized.headers.get('RateLimit')]).toEqual([401, null]);
  });

  test('a lower limit in the configuration applies to the next write', async () => {
    const { value: key } = await makeKey(await makeOrganization());
    expect(await notes(apiWith({ key: { records: 5, bytes: 1_000_000 } }), key, 3)).toEqual([201, 201, 201]);
    expect(await notes(apiWith({ key: { records: 2, bytes: 1_000_000 } }), key, 1)).toEqual([429]);
  });
});

describe('a limit on one key', () => {
  const setLimit = (id: string, column: 'day_limit_records' | 'day_limit_minutes', limit: number) =>
    env.DB.prepare(`update api_keys set ${column} = ?1 where id = ?2`).bind(limit, id).run();

  test('a change in the settings area acts on the next write of every isolate', async () => {
    const settings = await makeSettings();
    const key = await makeKey(settings.organization);
    const isolates = [apiWith({}), apiWith({})];
    for (const api of isolates) expect(await notes(api, key.value, 1)).toEqual([201]);
    const change = async (revision: string, records: string) => {
      const form = { revision, name: 'n8n: triage', dayLimitRecords: records };
      expect((await settings.post(`/keys/${key.id}/change`, form)).notice).toContain('Saved');
    };
    await change('0', '2');
    for (const api of isolates) expect(await notes(api, key.value, 1)).toEqual([429]);
    await change('1', '3');
    expect(await notes(isolates[0] ?? settings.api, key.value, 2)).toEqual([201, 429]);
    expect(await notes(isolates[1] ?? settings.api, key.value, 1)).toEqual([429]);
  });

  test('a limit of minutes refuses only writes with minutes', async () => {
    const key = await makeKey(await makeOrganization());
    await setLimit(key.id, 'day_limit_minutes', 60);
    const api = apiWith({});
    expect((await api.postTime(key.value, { ...TIME, minutes: 45 })).status).toBe(201);
    expect(await problemOf(api.postTime(key.value, { ...TIME, minutes: 16 }))).toBe('429 daily_limit_reached');
    expect((await api.postTime(key.value, { ...TIME, minutes: 15 })).status).toBe(201);
    await setLimit(key.id, 'day_limit_minutes', 30);
    const tooLong = await api.postTime(key.value, { ...TIME, minutes: 31 });
    expect(await tooLong.json()).toMatchObject({ detail: expect.stringContaining('this record alone has 31 minutes') });
    expect(await problemOf(api.postTime(key.value, { ...TIME, minutes: 1 }))).toBe('429 daily_limit_reached');
    expect((await api.postNote(key.value)).status).toBe(201);
  });
});

describe('the daily limit of an organization', () => {
  test('all keys of the organization share the limit, and no other organization is affected', async () => {
    const organization = await makeOrganization();
    const keys = [await makeKey(organization), await makeKey(organization)];
    const limits = { organization: { records: 4, bytes: 1_000_000 } };
    const api = apiWith(limits);
    expect(await notes(api, keys[0]?.value ?? '', 2)).toEqual([201, 201]);
    // A change by an administrator carries the total on.
    await makeKey(organization);
    expect(await notes(api, keys[1]?.value ?? '', 3)).toEqual([201, 201, 429]);
    const refused = await api.postNote(keys[0]?.value ?? '');
    expect(await refused.json()).toMatchObject({ 'violated-policies': ['organization-day'] });
    const { value: elsewhere } = await makeKey(await makeOrganization());
    expect(await notes(api, elsewhere, 1)).toEqual([201]);
    expect(await inconsistencies(env.DB, organization)).toEqual([]);
  });

  test('the limit is exact if several keys reach it simultaneously', async () => {
    const organization = await makeOrganization();
    const keys = await Promise.all([makeKey(organization), makeKey(organization, { name: 'second' })]);
    const apis = [0, 1, 2].map(() => apiWith({ organization: { records: 17, bytes: 1_000_000 } }));
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => apis[i % 3]?.postNote(keys[i % 2]?.value ?? '', { message: text() })),
    );
    expect(answers.filter((answer) => answer?.status === 201)).toHaveLength(17);
    expect(await inconsistencies(env.DB, organization)).toEqual([]);
  });

  test('the limit counts the bytes of all texts', async () => {
    const { value: key } = await makeKey(await makeOrganization());
    const api = apiWith({ organization: { records: 100, bytes: 1_000 } });
    expect((await api.postNote(key, { message: 'x'.repeat(990) })).status).toBe(201);
    expect(await problemOf(api.postNote(key, { message: 'x'.repeat(11) }))).toBe('429 daily_limit_reached');
    expect((await api.postNote(key, { message: 'x'.repeat(10) })).status).toBe(201);
  });
});

describe.each([
  ['a day of 23 hours', '2027-03-14T05:00:00Z', 23],
  ['a day of 25 hours', '2027-11-07T04:00:00Z', 25],
])('on %s', (_, start, hours) => {
  test('the limit holds until midnight', async () => {
    const organization = await makeOrganization({ timeZone: 'America/New_York' });
    const { value: key } = await makeKey(organization);
    const api = apiWith({ key: { records: 1, bytes: 1_000_000 }, organization: { records: 1, bytes: 1_000_000 } });
    const began = Date.parse(start);
    vi.setSystemTime(began);
    expect(await notes(api, key, 1)).toEqual([201]);
    const refused = await api.postNote(key);
    expect(refused.headers.get('Retry-After')).toBe(String(hours * 3_600));
    vi.setSystemTime(began + hours * 3_600_000 - 1);
    expect(await notes(api, key, 1)).toEqual([429]);
    vi.setSystemTime(began + hours * 3_600_000);
    expect(await notes(api, key, 2)).toEqual([201, 429]);
  });
});

describe('after a change of the time zone to an earlier local day', () => {
  const LIMITS = { key: { records: 3, bytes: 1_000_000 }, organization: { records: 3, bytes: 1_000_000 } };
  const moveTo = (organization: string, timeZone: string) => changeOrganization(organization, { timeZone });

  test('the limits follow the earlier day, and after a change back the later day', async () => {
    const organization = await makeOrganization({ timeZone: 'Pacific/Kiritimati' });
    const { value: key } = await makeKey(organization);
    const api = apiWith(LIMITS);
    expect(await notes(api, key, 2)).toEqual([201, 201]);
    await moveTo(organization, 'UTC');
    expect(await notes(api, key, 4)).toEqual([201, 201, 201, 429]);
    await moveTo(organization, 'Pacific/Kiritimati');
    expect(await notes(apiWith(LIMITS), key, 2)).toEqual([201, 429]);
    expect(await inconsistencies(env.DB, organization)).toEqual([]);
  });

  test('the last write and the audit log of a key are complete', async () => {
    const organization = await makeOrganization({ timeZone: 'UTC' });
    const [key, other] = [await makeKey(organization), await makeKey(organization)];
    const api = apiWith({});
    const write = async (timeZone: string, times: number) => {
      await moveTo(organization, timeZone);
      vi.setSystemTime(Date.now() + 1_000);
      await notes(makeApi({ config: { ...UNLIMITED, dayLimits: { key: null, organization: null } } }), other.value, 1);
      expect(await notes(api, key.value, times)).toEqual(Array(times).fill(201));
    };
    await write('UTC', 3);
    await write('Pacific/Kiritimati', 2);
    await write('UTC', 2);
    const admin = { ...asAdmin(organization), deadlineAt: Date.now() + 1e9 };
    const { entries } = await readAuditLog(admin, { keyId: key.id });
    // Its creation, and seven notes among those of the other key.
    expect(entries.map(({ seq }) => seq)).toEqual([12, 11, 9, 8, 6, 5, 4, 1]);
    expect((await getOwnKey(admin, key.id)).lastWrite?.at).toBe(Date.now());
  });
});

test('a write that commits after one of the next day is evaluated on its own day', async () => {
  const organization = await makeOrganization({ timeZone: 'UTC' });
  const { value: key } = await makeKey(organization);
  const api = apiWith({ organization: { records: 2, bytes: 1_000_000 } });
  const midnight = Date.parse('2027-03-14T00:00:00Z');
  vi.setSystemTime(midnight - 1);
  expect(await notes(api, key, 1)).toEqual([201]);
  vi.setSystemTime(midnight);
  expect(await notes(api, key, 1)).toEqual([201]);
  vi.setSystemTime(midnight - 1);
  expect(await notes(api, key, 2)).toEqual([201, 429]);
  vi.setSystemTime(midnight);
  expect(await notes(api, key, 2)).toEqual([201, 429]);
  expect(await inconsistencies(env.DB, organization)).toEqual([]);
});

test('after a change of the time zone, the limits follow the new local day', async () => {
  const organization = await makeOrganization({ timeZone: 'UTC' });
  const { value: key } = await makeKey(organization);
  const api = apiWith({ key: { records: 2, bytes: 1_000_000 }, organization: { records: 2, bytes: 1_000_000 } });
  expect(await notes(api, key, 3)).toEqual([201, 201, 429]);
  // It is already the next day there.
  await changeOrganization(organization, { timeZone: 'Pacific/Kiritimati' });
  // The isolate still has the old zone: the insert refuses it, and the explanation names the new one.
  expect(await notes(api, key, 3)).toEqual([201, 201, 429]);
  const ledger = await rowsOf('key_days', organization);
  expect(ledger.map(({ day, notes }) => [day, notes])).toEqual([
    ['2027-03-13', 2],
    ['2027-03-14', 2],
  ]);
});
