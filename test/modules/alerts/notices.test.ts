import { env } from 'cloudflare:workers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DAY_MS } from '../../../src/domain/calendar.ts';
import { CRON_TRIGGERS, runJobs } from '../../../src/jobs.ts';
import { startModules } from '../../../src/module.ts';
import { alerts } from '../../../src/modules/alerts/module.ts';
import { savePushState } from '../../../src/modules/push/push-state.ts';
import { eraseOrganization } from '../../../src/services/directory/erase-organization.ts';
import { recordRefusedUses } from '../../../src/services/keys/refused-uses.ts';
import { revokeAsAdministrator } from '../../../src/services/keys/revoke-key.ts';
import { aroundD1, reportingSize } from '../../support/d1.ts';
import { forgetNotices, type NoticeMessage, runNotices, startAddresses } from '../../support/notices.ts';
import { lastCursor } from '../../support/rpc.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { makeSettings } from '../../support/settings.ts';
import { psaContract } from '../../support/static-files.ts';
import {
  asAdmin,
  asOperator,
  config,
  importRecords,
  makeApi,
  makeKey,
  makeOrganization,
  rotate,
} from '../../support/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const RUN_MS = 5 * MINUTE_MS;
const START = Date.parse('2027-03-01T08:00:00Z');
const GB = 1_000_000_000;

let addresses: ReturnType<typeof startAddresses>;
let now = START;
const clock = () => now;
/** Every message that a test of this file got. */
const allMessages: NoticeMessage[] = [];

beforeAll(() => {
  addresses = startAddresses();
});
afterAll(() => addresses.stop());
beforeEach(async () => {
  now = START;
  allMessages.push(...addresses.messages);
  addresses.reset();
  await forgetNotices();
});

type Changes = Parameters<typeof runNotices>[1];

/** Lets time pass, with the cron every five minutes, or as often as `every`. */
async function pass(ms: number, { every = RUN_MS, ...changes }: Changes & { every?: number } = {}): Promise<void> {
  for (const end = now + ms; now < end; ) {
    now = Math.min(end, now + every);
    await runNotices(now, changes);
  }
}

/** An organization, after the first run, which makes no notices of the past. */
async function makeWatched(options?: Parameters<typeof makeOrganization>[0]): Promise<string> {
  const organization = await makeOrganization(options);
  await runNotices(now);
  now += RUN_MS;
  return organization;
}

/** The messages about an organization, each as its type and a field of its data. */
const typesSent = (organization: string, field?: string) =>
  addresses.messages
    .filter(({ data }) => data.organization === organization)
    .map(({ type, data }) => [type.replace('notice.', ''), ...(field === undefined ? [] : [data[field]])].join(' '));
const idsOf = (messages: readonly NoticeMessage[]) => messages.map(({ id }) => id);
const lines = () => addresses.posts.flat();
const answer =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    new Response(null, { status, headers });
const refuse = (organizationId: string, keyId: string, reason: 'expired' | 'scope_missing') =>
  recordRefusedUses(asAdmin(organizationId, clock), { organizationId, keyId, reason, count: 1, sourceAddress: null });
const setPush = (organization: string, failingSince: number | null, stoppedAt: number | null = null) =>
  savePushState(
    asOperator(),
    organization,
    {
      confirmedSeq: 0,
      confirmedAt: null,
      failingSince,
      attempts: 1,
      failure: failingSince === null ? null : 'HTTP 500',
      nextAttemptAt: null,
      stoppedAt,
    },
    null,
  );
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

describe('keys', () => {
  test('that are created, rotated or revoked give one notice each, in order', async () => {
    const organization = await makeWatched();
    const first = await makeKey(organization, { name: 'Contoso <!channel>' }, clock);
    const second = await makeKey(organization, {}, clock);
    now += 1;
    const successor = await rotate(organization, first.id, { grace: 'now' }, clock);
    now += 1;
    await revokeAsAdministrator(asAdmin(organization, clock), second.id);
    await runNotices(now);
    const keysOf = addresses.messages.map(({ type, data }) => [type, data.key?.id]);
    expect(keysOf).toEqual([
      ['notice.key_created', first.id],
      ['notice.key_created', second.id],
      ['notice.key_rotated', first.id],
      ['notice.key_revoked', second.id],
    ]);
    expect(addresses.messages[2]?.data).toMatchObject({
      organization,
      key: { name: { mediaType: 'text/plain', text: 'Contoso <!channel>' }, hint: first.hint },
      actor: { type: 'user', id: 'ada', name: { mediaType: 'text/plain', text: 'Ada' } },
      successor: { id: successor.id, hint: successor.hint },
      settingsUrl: `https://tickets.example/settings/${organization}/keys/${first.id}`,
    });
    // The chat gets those of different keys in one post, without names that a person has chosen.
    expect(addresses.posts.map((post) => post.length)).toEqual([2, 2]);
    expect(lines()).toEqual([
      `${organization}: API key ${first.hint} was created. https://tickets.example/settings/${organization}/keys/${first.id}`,
      expect.stringContaining(`${second.hint} was created. https://`),
      expect.stringContaining(`${first.hint} was replaced by ${successor.hint}, and ends at 2027-03-01 08:05 UTC.`),
      expect.stringContaining(`${second.hint} was revoked.`),
    ]);
  });

  test('of an organization that is new give notices from its first key on; what was before the first run gives none', async () => {
    const old = await makeOrganization();
    await makeKey(old, {}, () => START - HOUR_MS);
    await runNotices(now);
    now += MINUTE_MS;
    const organization = await makeOrganization();
    await makeKey(organization, {}, clock);
    await pass(RUN_MS * 2);
    await makeKey(old, {}, clock);
    await pass(RUN_MS * 2);
    expect(typesSent(organization)).toEqual(['key_created']);
    expect(typesSent(old)).toEqual(['key_created']);
  });

  test('that expire give a notice 14, 3 and 1 days before, once each', async () => {
    const organization = await makeWatched();
    const { id } = await makeKey(organization, { expires: '2027-03-31' }, clock);
    await makeKey(organization, {}, clock);
    // This one is created less than 14 days before it expires.
    const late = await makeKey(organization, { expires: '2027-03-11' }, clock);
    const replaced = await makeKey(organization, { expires: '2027-03-31' }, clock);
    await rotate(organization, replaced.id, { grace: '7d' }, clock);
    await pass(32 * DAY_MS, { every: DAY_MS });
    const expiring = addresses.messages.filter(({ type }) => type === 'notice.key_expiring');
    expect(expiring.map(({ data, timestamp }) => [data.key?.id, data['days'], timestamp])).toEqual([
      [late.id, 3, '2027-03-09T00:00:00.000Z'],
      [late.id, 1, '2027-03-11T00:00:00.000Z'],
      [id, 14, '2027-03-18T00:00:00.000Z'],
      [id, 3, '2027-03-29T00:00:00.000Z'],
      [id, 1, '2027-03-31T00:00:00.000Z'],
    ]);
  });

  test('that expire while no run takes place give the most urgent notice only', async () => {
    const organization = await makeWatched();
    await makeKey(organization, { expires: '2027-03-18' }, clock);
    await pass(RUN_MS);
    now = Date.parse('2027-03-06T00:00:00Z');
    await runNotices(now);
    now = Date.parse('2027-03-12T12:00:00Z');
    await runNotices(now);
    now = Date.parse('2027-03-18T12:00:00Z');
    await runNotices(now);
    await runNotices(now);
    expect(typesSent(organization, 'days').slice(1)).toEqual(['key_expiring 14', 'key_expiring 1']);
  });

  test('that are unused give a notice after 60 days, once, and again after the next use', async () => {
    const organization = await makeWatched();
    // This one has been unused for long: the list of keys shows it.
    await makeKey(organization, {}, () => START - 100 * DAY_MS);
    const { value: key, id } = await makeKey(organization, {}, clock);
    const { id: never } = await makeKey(organization, {}, clock);
    await pass(59 * DAY_MS, { every: 5 * DAY_MS });
    expect(typesSent(organization)).toEqual(['key_created', 'key_created']);
    await makeApi({ now: clock }).postNote(key);
    await pass(DAY_MS, { every: HOUR_MS });
    await pass(2 * DAY_MS, { every: DAY_MS });
    await pass(100 * DAY_MS, { every: 5 * DAY_MS });
    const unused = addresses.messages.filter(({ type }) => type === 'notice.key_unused').map(({ data }) => data);
    expect(unused.map(({ key: of, days, lastWriteAt }) => [of?.id, days, lastWriteAt])).toEqual([
      [never, 60, null],
      [id, 60, '2027-04-29T08:05:00.000Z'],
    ]);
  });

  test('that are refused give a notice for each reason, and another one only a week later', async () => {
    const organization = await makeWatched();
    const api = makeApi({ now: clock });
    const revoked = await makeKey(organization, {}, clock);
    const expired = await makeKey(organization, { expires: '2027-03-02' }, clock);
    const mismatched = await makeKey(organization, {}, clock);
    await revokeAsAdministrator(asAdmin(organization, clock), revoked.id);
    await api.postNote(mismatched.value, undefined, { 'Idempotency-Key': 'event-1' });
    now += 2 * DAY_MS;
    addresses.reset();
    await runNotices(now);
    addresses.reset();
    const use = async () => {
      await api.postNote(revoked.value);
      await api.postNote(expired.value);
      await api.postNote(mismatched.value, { message: 'Another one' }, { 'Idempotency-Key': 'event-1' });
      await api.settled();
    };
    for (let day = 0; day < 8; day++) {
      await use();
      await pass(DAY_MS, { every: DAY_MS / 2 });
    }
    const refused = addresses.messages.filter(({ type }) => type === 'notice.key_refused');
    const daysOf = (keyId: string) =>
      refused
        .filter(({ data }) => data.key?.id === keyId)
        .map(({ data, timestamp }) => `${data['reason']} ${timestamp.slice(0, 10)}`);
    expect(daysOf(revoked.id)).toEqual(['revoked 2027-03-03', 'revoked 2027-03-10']);
    expect(daysOf(expired.id)).toEqual(['expired 2027-03-03', 'expired 2027-03-10']);
    expect(daysOf(mismatched.id)).toEqual(['idempotency_mismatch 2027-03-03', 'idempotency_mismatch 2027-03-10']);
    expect(new Set(idsOf(refused)).size).toBe(6);
  });
});

describe('limits', () => {
  const dayLimits = { key: { records: 5, bytes: 1_000_000 }, organization: { records: 10, bytes: 1_000_000 } };

  test('of a day give a notice at 80 % and at 100 %, of a key and of the organization, once a day', async () => {
    const organization = await makeWatched({ timeZone: 'Pacific/Auckland' });
    const api = makeApi({ now: clock, config: { dayLimits } });
    const [first, second] = [await makeKey(organization, {}, clock), await makeKey(organization, {}, clock)];
    const write = async (key: string, count: number) => {
      for (let note = 0; note < count; note++) await api.postNote(key);
      await pass(RUN_MS * 3, { dayLimits });
    };
    await write(first.value, 3);
    expect(typesSent(organization).slice(2)).toEqual([]);
    await write(first.value, 1);
    await write(first.value, 1);
    await write(second.value, 5);
    const limits = () =>
      addresses.messages
        .filter(({ type }) => type === 'notice.daily_limit')
        .map(({ data }) => [data.key?.id ?? 'all', data['percent'], data['used'], data['limit'], data['day']]);
    const day = '2027-03-01';
    expect(limits()).toEqual([
      [first.id, 80, 4, 5, day],
      [first.id, 100, 5, 5, day],
      ['all', 100, 10, 10, day],
      // From 0 to 100 % between two runs: one notice.
      [second.id, 100, 5, 5, day],
    ]);
    await pass(3 * HOUR_MS, { dayLimits });
    expect(limits()).toHaveLength(4);
    // Midnight in Auckland.
    await write(first.value, 4);
    expect(limits().slice(4)).toEqual([[first.id, 80, 4, 5, '2027-03-02']]);
  });

  test("of a key's own minutes count too, and one of the deployment that does not exist does not", async () => {
    const organization = await makeWatched();
    const none = { key: null, organization: null };
    const { value } = await makeKey(organization, { dayLimit: { minutes: 100 } }, clock);
    const api = makeApi({ now: clock, config: { dayLimits: none } });
    await api.postTime(value, { minutes: 79, description: 'Work', billable: true });
    await pass(RUN_MS, { dayLimits: none });
    await api.postTime(value, { minutes: 1, description: 'Work', billable: true });
    await pass(RUN_MS, { dayLimits: none });
    expect(addresses.messages.at(-1)?.data).toMatchObject({ percent: 80, what: 'minutes', used: 80, limit: 100 });
    expect(typesSent(organization)).toEqual(['key_created', 'daily_limit']);
  });

  test('of the database give a notice at 70 % and at 90 %, and again after 30 days', async () => {
    let bytes = 6.9 * GB;
    const run = () =>
      runNotices(
        now,
        { databaseLimit: 10 * GB },
        reportingSize(env.DB, () => bytes),
      );
    const shown = () => addresses.messages.map(({ data }) => data['percent']);
    await run();
    expect(shown()).toEqual([]);
    bytes = 7 * GB;
    await run();
    await run();
    bytes = 9 * GB;
    await run();
    bytes = 8 * GB;
    await run();
    expect(shown()).toEqual([70, 90]);
    expect(addresses.messages[1]?.data).toEqual({
      organization: null,
      percent: 90,
      bytes: 9 * GB,
      limit: 10 * GB,
      settingsUrl: 'https://tickets.example/settings',
    });
    expect(lines()[0]).toBe(
      'The database has reached 70 % of its limit of 10,000 MB. https://tickets.example/settings',
    );
    now += 31 * DAY_MS;
    await runJobs(CRON_TRIGGERS.daily, {
      db: env.DB,
      config: config(),
      parts: startModules([alerts], {}, config()),
      now: clock,
    });
    bytes = 9 * GB;
    await run();
    // It was said that it is fuller than this.
    bytes = 8 * GB;
    await run();
    expect(shown()).toEqual([70, 90, 90]);
    expect(new Set(idsOf(addresses.messages)).size).toBe(3);
  });
});

describe('a failing push', () => {
  test('is told to the chat, and to the receiver unless the push works again before that', async () => {
    const organization = await makeWatched();
    await setPush(organization, now - 299_999);
    await runNotices(now);
    expect(addresses.attempts).toEqual({ push: 0, chat: 0 });
    addresses.push = answer(500);
    now += 1;
    await runNotices(now);
    await pass(HOUR_MS);
    expect(lines()).toEqual([
      `${organization}: Changes have not reached the PSA since 2027-03-01 08:00 UTC (HTTP 500). https://tickets.example/settings/${organization}/keys`,
    ]);
    expect(addresses.attempts.push).toBeGreaterThan(2);
    const { push: attempts } = addresses.attempts;
    await setPush(organization, null);
    addresses.reset();
    await pass(2 * HOUR_MS);
    expect(addresses.attempts).toEqual({ push: 0, chat: 0 });
    // If only the changes of this organization are refused, the notice reaches the receiver.
    await setPush(organization, now);
    await pass(HOUR_MS);
    expect(typesSent(organization, 'failure')).toEqual(['push_failing HTTP 500']);
    expect(lines()).toHaveLength(1);
    expect(attempts).toBeLessThan(12);
  });

  test('that the receiver has stopped gives a notice to the chat only, and nothing is sent to the receiver until it goes on', async () => {
    const organization = await makeWatched();
    await setPush(organization, now, now);
    await makeKey(organization, {}, clock);
    await pass(HOUR_MS);
    expect(lines().map((line) => line.split(' https')[0])).toEqual([
      expect.stringContaining('was created.'),
      `${organization}: Changes are not sent to the PSA since 2027-03-01 08:05 UTC (HTTP 500).`,
    ]);
    expect(addresses.attempts.push).toBe(0);
    await setPush(organization, null);
    await pass(RUN_MS);
    expect(typesSent(organization)).toEqual(['key_created']);
  });

  test('gives no notice if changes are not pushed', async () => {
    const organization = await makeWatched();
    await setPush(organization, now - HOUR_MS);
    await pass(HOUR_MS, { receiver: undefined });
    expect(lines()).toEqual([]);
    expect(addresses.attempts.push).toBe(0);
    expect(organization).not.toBe('');
  });
});

describe('a notice', () => {
  test('is sent again under the same id if the service dies between sending and recording it', async () => {
    const organization = await makeWatched();
    await makeKey(organization, {}, clock);
    const { db, failures } = failingAt('update notices set sent_at');
    await expect(runNotices(now, {}, db)).rejects.toMatchObject({ code: 'unavailable' });
    expect(failures()).toBeGreaterThan(0);
    expect(typesSent(organization)).toEqual(['key_created']);
    // A run that starts at once leaves the notice to the one that may still be sending it.
    await runNotices(now + 1);
    expect(typesSent(organization)).toHaveLength(1);
    await pass(HOUR_MS);
    const [first, second, ...more] = addresses.messages;
    expect(second).toEqual(first);
    expect(more).toEqual([]);
    expect(addresses.posts).toHaveLength(2);
  });

  test.each([
    'update notices set attempts',
    'insert into notices',
    'insert into notice_rounds',
    'select n.organization_id',
  ])('is sent once if the service dies before or after: %s', async (words) => {
    for (const when of ['before', 'after'] as const) {
      const organization = await makeWatched();
      addresses.reset();
      await makeKey(organization, {}, clock);
      const { db, failures } = failingAt(words, when);
      await expect(runNotices(now, {}, db)).rejects.toMatchObject({ code: 'unavailable' });
      expect(failures()).toBeGreaterThan(0);
      await pass(HOUR_MS);
      expect([when, ...typesSent(organization)]).toEqual([when, 'key_created']);
      expect(lines()).toHaveLength(1);
    }
  });

  test('of one organization that cannot be made keeps no other from its notices', async () => {
    const [organization, other] = [await makeWatched(), await makeOrganization()];
    const { id } = await makeKey(organization, {}, clock);
    await makeKey(other, {}, clock);
    await refuse(organization, id, 'scope_missing');
    now += 2 * MINUTE_MS;
    const { db } = failingAt(
      '(select * from refused_uses',
      'before',
      'D1_ERROR: no such column: last_at: SQLITE_ERROR',
    );
    await runNotices(now, {}, db);
    expect([typesSent(organization), typesSent(other)]).toEqual([[], ['key_created']]);
    expect(loggedLines('notices_not_made', 'error')).toEqual([expect.objectContaining({ organization })]);
  });

  test('is not sent by two runs at once', async () => {
    const organization = await makeWatched();
    for (let key = 0; key < 5; key++) await makeKey(organization, {}, clock);
    await Promise.all(Array.from({ length: 4 }, () => runNotices(now)));
    await pass(HOUR_MS);
    expect(typesSent(organization)).toEqual(Array(5).fill('key_created'));
    expect(new Set(idsOf(addresses.messages)).size).toBe(5);
    expect(lines()).toHaveLength(5);
  });

  test('is not repeated by a restart, in whatever state', async () => {
    const organization = await makeWatched();
    const { id } = await makeKey(organization, {}, clock);
    await refuse(organization, id, 'scope_missing');
    await pass(RUN_MS);
    const before = addresses.messages.length;
    expect(before).toBe(2);
    // The round begins again with what was examined before.
    await env.DB.prepare('update notice_rounds set after_id = ?, since = ?').bind('', START).run();
    await env.DB.prepare('delete from notice_positions').run();
    await pass(HOUR_MS);
    expect(addresses.messages).toHaveLength(before);
    expect(lines()).toHaveLength(before);
  });

  test('reaches a receiver that was down for an hour, all of a key in order', async () => {
    const organization = await makeWatched();
    const other = await makeOrganization();
    addresses.push = answer(503);
    const { id: first } = await makeKey(organization, {}, clock);
    await makeKey(other, {}, clock);
    await pass(20 * MINUTE_MS);
    const { id: second } = await makeKey(organization, {}, clock);
    await revokeAsAdministrator(asAdmin(organization, clock), first);
    await pass(20 * MINUTE_MS);
    await refuse(organization, first, 'scope_missing');
    await revokeAsAdministrator(asAdmin(organization, clock), second);
    await pass(20 * MINUTE_MS);
    expect(addresses.messages).toEqual([]);
    expect(loggedLines('notice_failed', 'warn').length).toBeLessThan(30);
    addresses.reset();
    await pass(HOUR_MS);
    const ofKey = (id: string) => addresses.messages.filter(({ data }) => data.key?.id === id).map(({ type }) => type);
    expect(ofKey(first)).toEqual(['notice.key_created', 'notice.key_revoked']);
    expect(ofKey(second)).toEqual(['notice.key_created', 'notice.key_revoked']);
    expect(typesSent(other)).toEqual(['key_created']);
    expect(addresses.messages).toHaveLength(5);
    // The chat was there all the time.
    expect(lines()).toEqual([]);
  });

  test('that the receiver does not understand holds back no notice about another key, and ends after 30 days', async () => {
    const organization = await makeWatched();
    const { id } = await makeKey(organization, {}, clock);
    addresses.push = (receive, body) => {
      if (body.includes(`"${id}"`)) return new Response(null, { status: 422 });
      receive();
      return new Response(null, { status: 204 });
    };
    await pass(RUN_MS);
    await revokeAsAdministrator(asAdmin(organization, clock), id);
    await makeKey(organization, {}, clock);
    await pass(HOUR_MS);
    expect(typesSent(organization)).toEqual(['key_created']);
    now += 31 * DAY_MS;
    await runJobs(CRON_TRIGGERS.daily, {
      db: env.DB,
      config: config(),
      parts: startModules([alerts], {}, config()),
      now: clock,
    });
    addresses.reset();
    await pass(HOUR_MS);
    expect(addresses.attempts.push).toBe(0);
  });

  test('that gets a 410 is not sent again; the changes are not stopped', async () => {
    const organization = await makeWatched();
    await makeKey(organization, {}, clock);
    addresses.push = answer(410);
    await pass(HOUR_MS);
    expect(addresses.attempts.push).toBe(1);
    const stopped = env.DB.prepare('select stopped_at from pushes where organization_id = ?').bind(organization);
    expect(await stopped.first('stopped_at')).toBeNull();
  });

  test('obeys Retry-After, and is sent to the chat with others of its organization in one post', async () => {
    const organization = await makeWatched();
    for (let key = 0; key < 25; key++) await makeKey(organization, {}, clock);
    addresses.chat = answer(429, { 'Retry-After': '3600' });
    // A failure ends the turn of the organization: the other 5 are tried by the next run.
    await pass(RUN_MS);
    expect(addresses.attempts.chat).toBe(1);
    await pass(50 * MINUTE_MS);
    expect(addresses.attempts.chat).toBe(2);
    addresses.reset();
    await pass(RUN_MS * 3);
    expect(addresses.posts.map((post) => post.length)).toEqual([20, 5]);
  });

  test('is about no organization that is inactive or erased, even if it waited', async () => {
    const [inactive, erased] = [await makeWatched(), await makeWatched()];
    for (const organization of [inactive, erased]) await makeKey(organization, {}, clock);
    [addresses.push, addresses.chat] = [answer(500), answer(500)];
    await pass(RUN_MS * 2);
    addresses.reset();
    for (const organization of [inactive, erased]) await makeKey(organization, {}, clock);
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
    expect(addresses.attempts).toEqual({ push: 0, chat: 0 });
    const left = env.DB.prepare('select count(*) as rows from notices where organization_id = ?').bind(erased);
    expect(await left.first('rows')).toBe(0);
  });

  test('of an organization becomes none while that is deactivated between the read and the claim', async () => {
    const organization = await makeWatched();
    await makeKey(organization, {}, clock);
    const deactivate = env.DB.prepare('update organizations set active = 0 where id = ?').bind(organization);
    const db = aroundD1(env.DB, async (run, _, sql) => {
      if (sql.some((text) => text.includes('update notices set attempts'))) await deactivate.run();
      return run();
    });
    await runNotices(now, {}, db);
    expect(addresses.attempts).toEqual({ push: 0, chat: 0 });
  });
});

test('a link leads to a page of the settings area', async () => {
  const { organization, api, headers } = await makeSettings();
  await runNotices(now);
  await makeKey(organization, {}, clock);
  await setPush(organization, now - HOUR_MS);
  await runNotices(
    now,
    {},
    reportingSize(env.DB, () => 9.5 * GB),
  );
  const links = addresses.messages.map(({ data }) =>
    String(data['settingsUrl']).replace('https://tickets.example', ''),
  );
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
  test('nothing is read; a pause of more than a week begins again with the present', async () => {
    const organization = await makeWatched();
    let calls = 0;
    const db = aroundD1(env.DB, (run) => {
      calls += 1;
      return run();
    });
    await runNotices(now, { receiver: undefined, noticeUrl: undefined }, db);
    expect(calls).toBe(0);
    await makeKey(organization, {}, clock);
    now += 8 * DAY_MS;
    await runNotices(now);
    await makeKey(organization, {}, clock);
    await pass(RUN_MS);
    expect(typesSent(organization)).toEqual(['key_created']);
  });

  test('of one kind, the other one gets them; one that is set later gets those from then on', async () => {
    const organization = await makeWatched();
    await makeKey(organization, {}, clock);
    await pass(RUN_MS, { noticeUrl: undefined, serviceUrl: undefined });
    expect(addresses.messages[0]?.data['settingsUrl']).toBeNull();
    await makeKey(organization, {}, clock);
    await pass(RUN_MS * 2);
    expect([typesSent(organization).length, lines().length]).toEqual([2, 1]);
  });
});

test('every message has its documented shape, and every type has occurred', async () => {
  const contract = await psaContract();
  allMessages.push(...addresses.messages);
  const differences = allMessages.flatMap(({ id, ...body }) =>
    contract.undocumentedMessage(body.type, JSON.parse(JSON.stringify(body))),
  );
  expect(differences).toEqual([]);
  const occurred = new Set(allMessages.map(({ type }) => type));
  expect(contract.webhooks.filter((type) => type.startsWith('notice.') && !occurred.has(type))).toEqual([]);
  expect(contract.undocumentedMessage('notice.key_created', { type: 'notice.key_created' })).not.toEqual([]);
});
