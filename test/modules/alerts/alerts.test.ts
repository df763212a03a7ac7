import { env } from 'cloudflare:workers';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fact, factSource, isActiveIn } from '../../../src/db/fact-statements.ts';
import { organizations } from '../../../src/db/schema/directory.ts';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { FACTS, type FactKind } from '../../../src/domain/facts.ts';
import { recordRefusal } from '../../../src/services/keys/record-refusal.ts';
import { revokeAsAdministrator } from '../../../src/services/keys/revoke-key.ts';
import { aroundD1, reportingSize } from '../../support/d1.ts';
import { eraseOrganization } from '../../support/erase-organization.ts';
import { lastCursor } from '../../support/psa-calls.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { makeSettings } from '../../support/settings.ts';
import { psaContract } from '../../support/static-files.ts';
import { asAdmin, asOperator, importRecords, makeApi, makeKey, makeOrganization, rotate } from '../../support/world.ts';
import { setPush } from '../push/support.ts';
import {
  type AlertMessage,
  accept,
  forgetAlerts,
  keyOf,
  runAlerts,
  runDailyAlerts,
  startAddresses,
  TYPES,
  typeOf,
} from './support.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const RUN_MS = 5 * MINUTE_MS;
/** The time of the daily run. */
const START = Date.parse('2027-03-01T03:17:00Z');
const GB = 1_000_000_000;

let addresses: ReturnType<typeof startAddresses>;
let now = START;
const clock = () => now;
/** Every message that a test of this file got. */
const allMessages: AlertMessage[] = [];

beforeAll(() => {
  addresses = startAddresses();
});
afterAll(() => addresses.stop());
beforeEach(async () => {
  now = START;
  allMessages.push(...addresses.messages);
  addresses.reset();
  await forgetAlerts();
});

type Changes = Parameters<typeof runAlerts>[1];

/** Lets time pass, with the cron every five minutes, for several hours every 15, or as often as `every`. */
async function pass(
  ms: number,
  { every = ms > HOUR_MS ? 3 * RUN_MS : RUN_MS, ...changes }: Changes & { every?: number } = {},
): Promise<void> {
  for (const end = now + ms; now < end; ) {
    now = Math.min(end, now + every);
    await runAlerts(now, changes);
  }
}

/** Lets days pass, with the daily run and the run after it. */
async function passDays(days: number, changes: Changes = {}): Promise<void> {
  for (let day = 0; day < days; day++) {
    now += DAY_MS;
    await runDailyAlerts(now, changes);
    await runAlerts(now, changes);
  }
}

/** The types of the facts in the messages about an organization. */
const typesSent = (organization: string) =>
  addresses.messages.filter(({ data }) => data.organization === organization).map(({ data }) => typeOf(data.text));
/** The keys of all messages, each after the type of its fact. */
const keysSent = () => addresses.messages.map(({ data: { text } }) => `${typeOf(text)} ${keyOf(text)}`);
const texts = () => addresses.messages.map(({ data }) => data.text);
const lines = () => addresses.lines;
const answer =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    new Response(null, { status, headers });
const refuse = (organizationId: string, keyId: string, reason: 'expired' | 'scope_missing' = 'scope_missing') =>
  recordRefusal(
    asAdmin(organizationId, clock),
    { organizationId, keyId },
    { uses: { reason, count: 1, sourceAddress: null } },
  );
/** An organization with a fact: a refused use of a key. */
async function makeRefused() {
  const organization = await makeOrganization();
  const key = await makeKey(organization, {}, clock);
  await refuse(organization, key.id);
  return { organization, key };
}
const setFailing = (organization: string, failingSince: number, stoppedAt: number | null = null) =>
  setPush(organization, { failingSince, failure: 'HTTP 500', stoppedAt });
/** The database whose calls fail, before or after they ran, if their SQL has these words. */
function failingAt(words: string, when: 'before' | 'after' = 'before', message = 'D1 DB is overloaded.') {
  let failures = 0;
  const db = aroundD1(env.DB, async (run, _, sql) => {
    const isHit = sql.some((text) => text.includes(words));
    if (isHit) failures += 1;
    if (isHit && when === 'before') throw new Error(message);
    const results = await run();
    if (isHit) throw new Error(message);
    return results;
  });
  return { db, failures: () => failures };
}

describe('a key', () => {
  test('a created, rotated or revoked key gives no alert: the feed of changes contains it', async () => {
    const organization = await makeOrganization();
    const first = await makeKey(organization, {}, clock);
    await rotate(organization, first.id, { grace: '1h' }, clock);
    const second = await makeKey(organization, {}, clock);
    await revokeAsAdministrator(asAdmin(organization, clock), second.id);
    await passDays(2);
    expect(addresses.attempts).toEqual({ push: 0, chat: 0 });
  });

  test('an expiring key gives an alert within 14, 3 and 1 days, once each, and none after it is replaced', async () => {
    const organization = await makeOrganization();
    const { id, hint } = await makeKey(organization, { name: 'Contoso <!channel>', expires: '2027-03-31' }, clock);
    await makeKey(organization, {}, clock);
    // This key is created less than 14 days before it expires.
    const late = await makeKey(organization, { expires: '2027-03-11' }, clock);
    const replaced = await makeKey(organization, { expires: '2027-03-31' }, clock);
    await rotate(organization, replaced.id, { grace: '7d' }, clock);
    await passDays(40);
    const expiring = addresses.messages.filter(({ data }) => typeOf(data.text) === 'key_expiring');
    expect(expiring.map(({ data, timestamp }) => [keyOf(data.text), timestamp.slice(0, 10)])).toEqual([
      [late.id, '2027-03-02'],
      [late.id, '2027-03-09'],
      [late.id, '2027-03-11'],
      [id, '2027-03-18'],
      [id, '2027-03-29'],
      [id, '2027-03-31'],
    ]);
    // No names that a person has chosen.
    const text = `${organization}: API key ${hint} expires at 2027-04-01 00:00 UTC. ${FACTS.key_expiring.advice} https://tickets.example/settings/${organization}/keys/${id}`;
    expect(expiring[3]).toMatchObject({ type: 'alert', data: { organization, text } });
    expect(lines()).toContain(text);
    expect(lines()).toEqual(texts());
  });

  test('a refused key gives an alert for each reason within five minutes, once while it is refused', async () => {
    const organization = await makeOrganization();
    const api = makeApi({ now: clock });
    const revoked = await makeKey(organization, {}, clock);
    const expired = await makeKey(organization, { expires: '2027-03-02' }, clock);
    const mismatched = await makeKey(organization, {}, clock);
    await revokeAsAdministrator(asAdmin(organization, clock), revoked.id);
    await api.postNote(mismatched.value, undefined, { 'Idempotency-Key': 'event-1' });
    now += 2 * DAY_MS;
    const use = async () => {
      await api.postNote(revoked.value);
      await api.postNote(expired.value);
      await api.postNote(mismatched.value, { message: 'Another one' }, { 'Idempotency-Key': 'event-1' });
      await api.settled();
    };
    const refused = () => keysSent().sort();
    const once = [
      `refused_expired ${expired.id}`,
      `refused_idempotency_mismatch ${mismatched.id}`,
      `refused_revoked ${revoked.id}`,
    ];
    for (let day = 0; day < 9; day++) {
      await use();
      await pass(RUN_MS);
      expect(refused()).toEqual(once);
      await pass(DAY_MS, { every: DAY_MS / 2 });
    }
    // After a week without a refusal the fact is gone; the next refusal is a new one.
    await pass(8 * DAY_MS, { every: DAY_MS });
    await use();
    await pass(RUN_MS);
    expect(refused()).toEqual([...once, ...once].sort());
    expect(new Set(addresses.messages.map(({ id }) => id)).size).toBe(6);
  });
});

describe('a limit', () => {
  /** Without organization, advice and link. */
  const sentences = () => texts().map((text) => text.replace(/^\S+: /, '').replace(/ Check the automations.*/, ''));
  const dayLimits = { key: { records: 5, bytes: 1_000_000 }, organization: { records: 10, bytes: 1_000_000 } };

  test('a daily limit gives an alert at 80% and at 100%, of a key and of the organization, once for each day', async () => {
    const organization = await makeOrganization({ timeZone: 'Pacific/Auckland' });
    const api = makeApi({ now: clock, config: { dayLimits } });
    const [first, second] = [await makeKey(organization, {}, clock), await makeKey(organization, {}, clock)];
    const write = async (key: string, count: number) => {
      for (let note = 0; note < count; note++) await api.postNote(key);
      addresses.reset();
      await runDailyAlerts(now, { dayLimits });
      await pass(RUN_MS, { dayLimits });
      return sentences();
    };
    expect(await write(first.value, 3)).toEqual([]);
    const of = (who: string, percent: number, limit: number, day = '2027-03-01') =>
      `${who} has used ${percent}% of the daily limit of ${limit} new records, on ${day}.`;
    expect(await write(first.value, 1)).toEqual([of(`API key ${first.hint}`, 80, 5)]);
    expect(await write(first.value, 1)).toEqual([of(`API key ${first.hint}`, 100, 5)]);
    // From 0 to 100 % between two runs: one alert.
    expect((await write(second.value, 5)).sort()).toEqual([
      of(`API key ${second.hint}`, 100, 5),
      of('The organization', 100, 10),
    ]);
    expect(await write(first.value, 0)).toEqual([]);
    // The next day in Auckland.
    now += 12 * HOUR_MS;
    expect(await write(first.value, 4)).toEqual([of(`API key ${first.hint}`, 80, 5, '2027-03-02')]);
  });

  test.each([
    ['Pacific/Kiritimati', '2027-03-01T09:59:00Z', '2027-03-01'],
    ['UTC', '2027-03-01T23:59:00Z', '2027-03-01'],
    ['Etc/GMT+12', '2027-03-01T11:59:00Z', '2027-02-28'],
  ])('a daily limit that is reached just before midnight gives an alert after it: %s', async (timeZone, at, day) => {
    now = Date.parse(at);
    const organization = await makeOrganization({ timeZone });
    const { value } = await makeKey(organization, {}, clock);
    for (let note = 0; note < 5; note++) await makeApi({ now: clock, config: { dayLimits } }).postNote(value);
    // After midnight the organization goes on writing.
    now += 2 * MINUTE_MS;
    await makeApi({ now: clock, config: { dayLimits } }).postNote(value);
    now = Date.parse(at) - (Date.parse(at) % DAY_MS) + DAY_MS + 197 * MINUTE_MS;
    await runDailyAlerts(now, { dayLimits });
    await pass(RUN_MS, { dayLimits });
    expect(texts()).toEqual([expect.stringContaining(`100% of the daily limit of 5 new records, on ${day}.`)]);
    addresses.reset();
    await passDays(3, { dayLimits });
    expect(texts()).toEqual([]);
  });

  test("a key's own limit of minutes gives an alert, and a missing limit of the deployment gives none", async () => {
    const organization = await makeOrganization();
    const none = { key: null, organization: null };
    const { value, hint } = await makeKey(organization, { dayLimit: { minutes: 100 } }, clock);
    const api = makeApi({ now: clock, config: { dayLimits: none } });
    await api.postTime(value, { minutes: 79, description: 'Work', billable: true });
    await runDailyAlerts(now, { dayLimits: none });
    await pass(RUN_MS);
    const aboutLimits = () => sentences().filter((text) => text.includes('limit'));
    expect(aboutLimits()).toEqual([]);
    await api.postTime(value, { minutes: 1, description: 'Work', billable: true });
    await runDailyAlerts(now, { dayLimits: none });
    await pass(RUN_MS);
    expect(aboutLimits()).toEqual([`API key ${hint} has used 80% of the daily limit of 100 minutes, on 2027-03-01.`]);
  });

  test.each([
    [{ records: 1 }, '1 new record'],
    [{ minutes: 1 }, '1 minute'],
  ])('the alert about a daily limit of %o says %s', async (dayLimit, words) => {
    const organization = await makeOrganization();
    const { value, hint } = await makeKey(organization, { dayLimit }, clock);
    await makeApi({ now: clock }).postTime(value, { minutes: 1, description: 'Work', billable: true });
    await runDailyAlerts(now);
    await pass(RUN_MS);
    expect(sentences()).toContain(`API key ${hint} has used 100% of the daily limit of ${words}, on 2027-03-01.`);
  });

  test('a database limit gives an alert at 70% and at 90%, and again after the size was below it', async () => {
    let bytes = 6.9 * GB;
    const run = async (share: number) => {
      bytes = share * 10 * GB;
      const db = reportingSize(env.DB, () => bytes);
      await runAlerts(now, {}, db);
      return texts().map((text) => /\d\d%/.exec(text)?.[0]);
    };
    expect(await run(0.69)).toEqual([]);
    expect(await run(0.7)).toEqual(['70%']);
    expect(await run(0.7)).toEqual(['70%']);
    expect(await run(0.9)).toEqual(['70%', '90%']);
    // Less urgent than what was sent.
    expect(await run(0.8)).toEqual(['70%', '90%']);
    expect(await run(0.9)).toEqual(['70%', '90%']);
    expect(addresses.messages[1]?.data.organization).toBeNull();
    expect(lines()[0]).toBe(
      `The database has reached 70% of its limit of 10,000 MB. ${FACTS.database_size.advice} https://tickets.example/settings`,
    );
    expect(await run(0.6)).toEqual(['70%', '90%']);
    expect(await run(0.75)).toEqual(['70%', '90%', '70%']);
    expect(new Set(addresses.messages.map(({ id }) => id)).size).toBe(3);
  });
});

describe('a failing push', () => {
  test('a failing push gives an alert to the chat, and to the receiver unless the push works again before that', async () => {
    const organization = await makeOrganization();
    await setFailing(organization, now - 299_999);
    await runAlerts(now);
    expect(addresses.attempts).toEqual({ push: 0, chat: 0 });
    addresses.push = answer(500);
    now += 1;
    await runAlerts(now);
    await pass(HOUR_MS);
    expect(lines()).toEqual([
      `${organization}: Changes have not reached the PSA since 2027-03-01 03:12 UTC (HTTP 500). ${FACTS.push_failing.advice} https://tickets.example/settings/${organization}/keys`,
    ]);
    expect(addresses.attempts.push).toBeGreaterThan(2);
    expect(addresses.attempts.push).toBeLessThan(14);
    await setPush(organization);
    addresses.reset();
    await pass(2 * HOUR_MS);
    expect(addresses.attempts).toEqual({ push: 0, chat: 0 });
    // If only the changes of this organization are refused, the alert reaches the receiver.
    await setFailing(organization, now);
    await pass(HOUR_MS);
    expect(typesSent(organization)).toEqual(['push_failing']);
    expect(lines()).toHaveLength(1);
  });

  test('a push that the receiver stops gives another alert, which the receiver can refuse with 410', async () => {
    const { organization } = await makeRefused();
    await setFailing(organization, now - HOUR_MS);
    await pass(RUN_MS);
    addresses.reset();
    addresses.push = answer(410);
    await setFailing(organization, now - HOUR_MS, now);
    await pass(HOUR_MS);
    expect(lines().map((line) => line.split(' Find')[0])).toEqual([
      `${organization}: Changes are not sent to the PSA since 2027-03-01 02:22 UTC (HTTP 500).`,
    ]);
    expect(addresses.attempts.push).toBe(1);
  });

  test('a failure gives no alert if changes are not pushed', async () => {
    const organization = await makeOrganization();
    await setFailing(organization, now - HOUR_MS);
    await pass(HOUR_MS, { receiver: undefined });
    expect(addresses.attempts).toEqual({ push: 0, chat: 0 });
  });
});

describe('an alert', () => {
  test('an alert is sent again under the same id if the service dies between sending and recording it', async () => {
    const { organization } = await makeRefused();
    const { db, failures } = failingAt('update alerts set to_receiver');
    await expect(runAlerts(now, {}, db)).rejects.toMatchObject({ code: 'unavailable' });
    expect(failures()).toBeGreaterThan(0);
    expect(typesSent(organization)).toHaveLength(1);
    // A run that starts at once leaves the alert to the run that may still be sending it.
    await runAlerts(now + 1);
    expect(typesSent(organization)).toHaveLength(1);
    await refuse(organization, (await makeKey(organization, {}, clock)).id, 'expired');
    await pass(HOUR_MS);
    const [first, second, other, ...more] = addresses.messages.toSorted((a, b) =>
      a.timestamp.localeCompare(b.timestamp),
    );
    expect(second).toEqual(first);
    expect([typeOf(other?.data.text ?? ''), ...more]).toEqual(['refused_expired']);
  });

  test.each(['update alerts set tried_at', 'insert into alerts', 'from alerts indexed by alerts_type'])(
    'an alert is sent once if the service dies before or after: %s',
    async (words) => {
      for (const when of ['before', 'after'] as const) {
        addresses.reset();
        const { organization } = await makeRefused();
        const { db, failures } = failingAt(words, when);
        await expect(runAlerts(now, {}, db)).rejects.toMatchObject({ code: 'unavailable' });
        expect(failures()).toBeGreaterThan(0);
        await pass(HOUR_MS);
        expect([when, ...typesSent(organization)]).toEqual([when, 'refused_scope_missing']);
        expect(lines()).toHaveLength(1);
      }
    },
  );

  test('an alert that cannot be created for one organization holds back no other organization', async () => {
    const [bad, good] = [await makeOrganization(), await makeOrganization()];
    const kind: FactKind = {
      isUrgent: false,
      sentence: ({ organizationId }) => {
        if (organizationId === bad) throw new RangeError('there is no such time');
        return 'This is late.';
      },
      advice: 'Hurry.',
    };
    const late = factSource({ late: kind }, (search) => {
      const columns = fact(sql`'late'`, { since: sql`${search.now}` });
      return sql`select ${columns} from ${organizations} where ${isActiveIn(search)} ${search.upToLimit}`;
    });
    await runDailyAlerts(now, {}, env.DB, [late]);
    await pass(RUN_MS);
    expect(texts().map((text) => text.split(' https')[0])).toEqual([`${good}: This is late. Hurry.`]);
    expect(loggedLines('alert_not_made', 'error')).toEqual([
      expect.objectContaining({ organization: bad, type: 'late' }),
    ]);
  });

  test('a search that fails for one kind of fact holds back no other kind', async () => {
    const { organization } = await makeRefused();
    const { db } = failingAt('pushes_in_trouble', 'before', 'D1_ERROR: no such column: x: SQLITE_ERROR');
    await expect(runAlerts(now, {}, db)).rejects.toThrow();
    expect(typesSent(organization)).toEqual(['refused_scope_missing']);
    expect(loggedLines('alerts_not_found', 'error')).toHaveLength(1);
  });

  test('two simultaneous runs send an alert once', async () => {
    const organization = await makeOrganization();
    for (let key = 0; key < 5; key++) await refuse(organization, (await makeKey(organization, {}, clock)).id);
    await Promise.all(Array.from({ length: 4 }, () => runAlerts(now)));
    await pass(HOUR_MS);
    expect(typesSent(organization)).toEqual(Array(5).fill('refused_scope_missing'));
    expect(new Set(addresses.messages.map(({ id }) => id)).size).toBe(5);
    expect(lines()).toHaveLength(5);
  });

  test('alerts reach a receiver that was down for hours, and are not sent to the chat again', async () => {
    addresses.push = answer(503);
    const { organization, key } = await makeRefused();
    const expiring = await makeKey(organization, { expires: '2027-03-05' }, clock);
    await runDailyAlerts(now);
    await pass(6 * HOUR_MS);
    expect(addresses.messages).toEqual([]);
    expect(lines()).toHaveLength(2);
    addresses.reset();
    await pass(HOUR_MS);
    expect(keysSent().sort()).toEqual([`key_expiring ${expiring.id}`, `refused_scope_missing ${key.id}`]);
    expect(lines()).toEqual([]);
  });

  test('an alert that the receiver always refuses holds back no other organization', async () => {
    const bad = await makeOrganization();
    for (let key = 0; key < 30; key++) await refuse(bad, (await makeKey(bad, {}, clock)).id);
    addresses.push = (receive, body) => {
      if (body.includes(bad)) return new Response(null, { status: 422 });
      receive();
      return new Response(null, { status: 204 });
    };
    await pass(RUN_MS);
    const { organization } = await makeRefused();
    await pass(RUN_MS);
    expect([typesSent(bad), typesSent(organization)]).toEqual([[], ['refused_scope_missing']]);
  });

  test('an alert that gets a 410 is not sent again; the changes are not stopped', async () => {
    const { organization } = await makeRefused();
    addresses.push = answer(410);
    await pass(HOUR_MS);
    expect(addresses.attempts.push).toBe(1);
    const stopped = env.DB.prepare('select stopped_at from pushes where organization_id = ?').bind(organization);
    expect(await stopped.first('stopped_at')).toBeNull();
  });

  test('an alert that is accepted nowhere is tried for 24 hours under the same id, and never after', async () => {
    const { organization } = await makeRefused();
    const ids = new Set<string>();
    addresses.push = (receive) => {
      receive();
      return new Response(null, { status: 500 });
    };
    addresses.chat = answer(429);
    await pass(23 * HOUR_MS);
    for (const { id } of addresses.messages) ids.add(id);
    expect([addresses.attempts.push > 50, ids.size]).toEqual([true, 1]);
    expect(addresses.attempts.chat).toBe(addresses.attempts.push);
    await pass(2 * HOUR_MS);
    addresses.reset();
    await pass(2 * HOUR_MS);
    expect(addresses.attempts).toEqual({ push: 0, chat: 0 });
    const type = 'refused_scope_missing';
    expect(
      await env.DB.prepare('select type from alerts where organization_id = ?').bind(organization).all(),
    ).toMatchObject({
      results: [{ type }],
    });
  });

  test('an alert that becomes more urgent replaces one that is unsent', async () => {
    const organization = await makeOrganization();
    addresses.push = answer(500);
    await setFailing(organization, now - HOUR_MS);
    await pass(RUN_MS);
    addresses.push = accept;
    await setFailing(organization, now - HOUR_MS, now);
    await pass(RUN_MS);
    expect(texts()).toEqual([expect.stringContaining('Changes are not sent')]);
    expect(lines()).toEqual([expect.stringContaining('Changes have not reached'), ...texts()]);
  });

  test('an alert about an inactive or erased organization is never sent, even if it waited', async () => {
    [addresses.push, addresses.chat] = [answer(500), answer(500)];
    const [{ organization: inactive }, { organization: erased }] = [await makeRefused(), await makeRefused()];
    for (const organization of [inactive, erased]) await makeKey(organization, { expires: '2027-03-05' }, clock);
    await runDailyAlerts(now);
    await pass(RUN_MS * 2);
    addresses.reset();
    await importRecords({
      type: 'organization',
      id: inactive,
      name: 'Northwind',
      psa: true,
      timeZone: 'UTC',
      defaultHourlyRate: 120,
      active: false,
    });
    const cursor = await lastCursor(erased);
    await eraseOrganization(asOperator(), { organization: erased, cursor, by: 'Ada' });
    await pass(3 * HOUR_MS);
    await passDays(1);
    expect(addresses.attempts).toEqual({ push: 0, chat: 0 });
    expect(await env.DB.prepare('select count(*) as n from alerts').first('n')).toBe(0);
  });

  test('an organization that becomes inactive before the run gets no alert', async () => {
    const { organization } = await makeRefused();
    const deactivate = env.DB.prepare('update organizations set active = 0 where id = ?').bind(organization);
    for (const words of ['insert into alerts', 'update alerts set tried_at']) {
      await env.DB.prepare('update organizations set active = 1 where id = ?').bind(organization).run();
      const db = aroundD1(env.DB, async (run, _, sql) => {
        if (sql.some((text) => text.includes(words))) await deactivate.run();
        return run();
      });
      await runAlerts(now, {}, db);
    }
    expect(addresses.attempts).toEqual({ push: 0, chat: 0 });
  });
});

test('a link leads to a page of the settings area', async () => {
  const { organization, api, headers } = await makeSettings();
  await refuse(organization, (await makeKey(organization, {}, clock)).id);
  await setFailing(organization, now - HOUR_MS);
  await runAlerts(
    now,
    {},
    reportingSize(env.DB, () => 9.5 * GB),
  );
  const links = texts().map((text) => / https:\/\/tickets\.example(\S+)$/.exec(text)?.[1] ?? '');
  expect(links.map((link) => link.replace(/keys\/.*/, 'keys/ID')).sort()).toEqual([
    '/settings',
    `/settings/${organization}/keys`,
    `/settings/${organization}/keys/ID`,
  ]);
  for (const link of links) {
    const { status } = await api.send(link, {
      headers: { 'Cf-Access-Jwt-Assertion': headers['Cf-Access-Jwt-Assertion'] },
    });
    expect([link, status]).toEqual([link, link === '/settings' ? 303 : 200]);
  }
});

describe('without an address', () => {
  test('nothing is searched or sent', async () => {
    await makeRefused();
    const { db, failures } = failingAt('');
    const nowhere = { receiver: undefined, alertUrl: undefined };
    await runDailyAlerts(now, nowhere, db);
    await runAlerts(now, nowhere, db);
    expect([failures(), addresses.attempts]).toEqual([0, { push: 0, chat: 0 }]);
  });

  test('alerts go to the only address, without a link if the service has none, and not later to another one', async () => {
    const { organization, key } = await makeRefused();
    await pass(RUN_MS, { alertUrl: undefined, serviceUrl: undefined });
    await pass(RUN_MS * 2);
    expect(texts()).toEqual([
      `${organization}: API key ${key.hint} lacks a scope for what an automation does with it. Last at 2027-03-01 03:17 UTC. ${FACTS.refused_scope_missing.advice}`,
    ]);
    expect(lines()).toEqual([]);
  });
});

test('every message has its documented shape, and every kind of fact has occurred', async () => {
  const organization = await makeOrganization();
  const key = await makeKey(organization, {}, clock);
  const ofKey = { name: 'key-day', isOwn: true, limit: 30, used: 20, added: 20 } as const;
  const refusals = [
    { reason: 'address_not_allowed' },
    { reason: 'daily_limit_reached', dayLimit: { ...ofKey, what: 'minutes' } },
    { reason: 'daily_limit_reached', dayLimit: { ...ofKey, what: 'records' } },
    { reason: 'daily_limit_reached', dayLimit: { ...ofKey, isOwn: false, what: 'bytes' } },
    { reason: 'daily_limit_reached', dayLimit: { ...ofKey, name: 'organization-day', isOwn: false, what: 'records' } },
  ] as const;
  for (const refusal of refusals)
    await recordRefusal(
      asAdmin(organization, clock),
      { organizationId: organization, keyId: key.id },
      { uses: { ...refusal, count: 3, sourceAddress: '192.0.2.1' } },
    );
  const refusal = env.DB.prepare("insert into psa_refusals values (?1, 'record', 'note', 'Closed', ?2)");
  await refusal.bind(organization, now).run();
  await runDailyAlerts(now);
  await runAlerts(now);
  // Each limit has its alert.
  const limits = texts().flatMap((text) => /because of a daily limit of (.+?)\. /.exec(text)?.[1] ?? []);
  expect(limits.sort()).toEqual([
    'minutes of the key',
    'records of the key',
    'records of the organization',
    'text of the key',
  ]);
  const contract = await psaContract();
  allMessages.push(...addresses.messages);
  const differences = allMessages.flatMap(({ id, ...body }) =>
    contract.undocumentedMessage(body.type, JSON.parse(JSON.stringify(body))),
  );
  expect(differences).toEqual([]);
  const occurred = new Set(allMessages.map(({ data }) => typeOf(data.text)));
  expect(TYPES.filter((type) => !occurred.has(type))).toEqual([]);
  expect(contract.undocumentedMessage('alert', { type: 'alert' })).not.toEqual([]);
});
