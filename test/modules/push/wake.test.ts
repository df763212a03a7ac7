import { env } from 'cloudflare:workers';
import { afterEach, describe, expect, test, vi } from 'vitest';
import worker from '../../../src/index.ts';
import { CRON_TRIGGERS } from '../../../src/jobs.ts';
import { type Pushers, Wakes } from '../../../src/modules/push/wake.ts';
import { wakeDue } from '../../../src/modules/push/wake-due.ts';
import { eraseOrganization } from '../../support/erase-organization.ts';
import { directory, lastCursor, resultOf, work } from '../../support/psa-calls.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { asOperator, makeApi, makeOrganization, makeWorld } from '../../support/world.ts';
import { expectDelivered, makePushed, PUSH, pushOthers, pushRow, setPush, usePush } from './support.ts';

/** Objects that only note when they are woken. */
function makePushers(wake: () => Promise<void> = async () => {}) {
  const woken: { organization: string; at: number }[] = [];
  const pushers: Pushers = {
    getByName: (name) => ({
      wake: (organization) => {
        expect(name).toBe(organization);
        woken.push({ organization, at: Date.now() });
        return wake();
      },
      forgetErased: async () => {
        woken.push({ organization: name, at: Date.now() });
      },
    }),
  };
  return { pushers, woken };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('wakes after writes', () => {
  /** Writes at these times in milliseconds, and returns when the object was woken. */
  async function wokenAt(...times: number[]): Promise<number[]> {
    vi.useFakeTimers();
    const start = Date.now();
    const { pushers, woken } = makePushers();
    const wakes = new Wakes();
    for (const time of times) {
      await vi.advanceTimersByTimeAsync(start + time - Date.now());
      wakes.afterWrite(pushers, 'northwind', () => undefined);
    }
    await vi.advanceTimersByTimeAsync(10_000);
    return woken.map(({ at }) => at - start);
  }

  test('the first write wakes at once, and all others of that second cause one wake at its end', async () => {
    expect(await wokenAt(0)).toEqual([0]);
    expect(await wokenAt(0, 1)).toEqual([0, 1_000]);
    expect(await wokenAt(0, 10, 500, 999)).toEqual([0, 1_000]);
    expect(await wokenAt(0, 1_000)).toEqual([0, 1_000]);
    // A wake at the end of a second begins another one.
    expect(await wokenAt(0, 500, 1_200)).toEqual([0, 1_000, 2_000]);
  });

  test('every write is followed by a wake within a second, even if timers are late', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const { pushers, woken } = makePushers();
    const wakes = new Wakes();
    const work: Promise<void>[] = [];
    const write = () => wakes.afterWrite(pushers, 'northwind', (promise) => work.push(promise));
    write();
    write();
    vi.setSystemTime(Date.now() + 5_000);
    write();
    expect(woken).toHaveLength(2);
    write();
    vi.useRealTimers();
    await Promise.all(work);
    expect(woken.length).toBeGreaterThanOrEqual(3);
  });

  test('organizations do not share a second', () => {
    const { pushers, woken } = makePushers();
    const wakes = new Wakes();
    for (const organization of ['a', 'b', 'a', 'b']) wakes.afterWrite(pushers, organization, () => undefined);
    expect(woken.map(({ organization }) => organization)).toEqual(['a', 'b']);
  });

  test('a failed wake is logged and has no other effect', async () => {
    const { pushers } = makePushers(() => Promise.reject(new Error('secret')));
    const work: Promise<void>[] = [];
    new Wakes().afterWrite(pushers, 'northwind', (promise) => work.push(promise));
    await Promise.all(work);
    expect(loggedLines('push_wake_failed', 'warn')).toMatchObject([{ organization: 'northwind' }]);
  });
});

describe('a request', () => {
  /** A namespace in the place of the real one. */
  const bindingsWith = (pushers: Pushers) => ({ PUSHER: Object.assign(Object.create(env.PUSHER), pushers) });

  test('a request wakes after a write, and not for a replay, a refusal or without a receiver', async () => {
    const { organization, key } = await makeWorld();
    const { pushers, woken } = makePushers();
    const api = makeApi({ config: { receiver: PUSH }, bindings: bindingsWith(pushers) });
    const off = makeApi({ config: { receiver: undefined }, bindings: bindingsWith(pushers) });
    await off.postNote(key, undefined, { 'Idempotency-Key': 'one-and-only-key' });
    await api.postNote(key, undefined, { 'Idempotency-Key': 'one-and-only-key' });
    await api.postNote(key, undefined, {}, '9999');
    await api.send('/api/v1/ping', { key });
    expect(woken).toEqual([]);
    await api.postNote(key);
    expect(woken).toMatchObject([{ organization }]);
  });

  test('the response does not wait for the object', async () => {
    const { key } = await makeWorld();
    const { pushers, woken } = makePushers(() => new Promise(() => undefined));
    const api = makeApi({ config: { receiver: PUSH }, bindings: bindingsWith(pushers) });
    expect((await api.postNote(key)).status).toBe(201);
    expect(woken).toHaveLength(1);
  });
});

describe('with real objects', () => {
  const push = usePush();

  test('changes by the PSA over RPC are pushed, and its directory is not', async () => {
    const { organization, key, quiet } = await makePushed();
    await quiet.postTime(key);
    resultOf(await directory.upsert(organization, [{ type: 'ticket', organization, id: '2001', company: 'acme' }]));
    expect(await pushRow(organization)).toBeNull();
    const entry = resultOf(await work.changes(organization, null)).changes.at(-1)?.targetId ?? '';
    resultOf(await work.reviewTimeEntry(organization, entry, 'APPROVED', 'ada'));
    await expectDelivered(push.receiver, organization);
  });

  test('the push job delivers changes without a wake', async () => {
    const { organization, key, quiet } = await makePushed();
    await quiet.postNote(key);
    await pushOthers(organization);
    await wakeDue(asOperator(), env.PUSHER);
    await expectDelivered(push.receiver, organization);
  });
});

describe('the push job', () => {
  /** Sweeps, and returns which of these organizations were woken. */
  async function swept(organizations: string[], now = Date.now()): Promise<string[]> {
    const { pushers, woken } = makePushers();
    await wakeDue(
      asOperator(env.DB, () => now),
      pushers,
    );
    return organizations.flatMap((id) => woken.flatMap(({ organization }) => (organization === id ? id : [])));
  }

  test('the push job wakes objects of organizations that were erased in the last day, so that they delete their storage', async () => {
    const { organization } = await makeWorld();
    const cursor = await lastCursor(organization);
    await eraseOrganization(asOperator(), { organization, cursor, by: 'Ada' });
    expect(await swept([organization])).toEqual([organization]);
    expect(await swept([organization], Date.now() + 25 * 3_600_000)).toEqual([]);
    const record = { type: 'organization' as const, id: organization, name: 'A', psa: true, timeZone: 'UTC' };
    resultOf(await directory.upsert(organization, [{ ...record, defaultHourlyRate: 1 }], false, true));
    expect(await swept([organization])).toEqual([]);
  });

  test('the push job wakes objects with unconfirmed changes, unless they are stopped or wait', async () => {
    const now = Date.now();
    const { organization } = await makeWorld();
    const none = await makeOrganization();
    const isSwept = async () => (await swept([organization, none], now)).join();
    expect(await isSwept()).toBe(organization);
    await setPush(organization, { confirmedSeq: 1 });
    expect(await isSwept()).toBe('');
    await setPush(organization);
    expect(await isSwept()).toBe(organization);
    await setPush(organization, { nextAttemptAt: now + 1 });
    expect(await isSwept()).toBe('');
    await setPush(organization, { nextAttemptAt: now });
    expect(await isSwept()).toBe(organization);
    await setPush(organization, { stoppedAt: now });
    expect(await isSwept()).toBe('');
  });

  test('the push job wakes at most 500 objects, and over time all of them', async () => {
    await env.DB.prepare(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 700)
       insert into organizations select 'sweep-' || i, 'S', 1, 'UTC', 0, 1, 'settings' from n`,
    ).run();
    await env.DB.prepare(
      `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id)
       select id, 1, 0, 'system', 'psa', '', 'a.b', 'x', 'r' from organizations where id glob 'sweep-*'`,
    ).run();
    const seen = new Set<string>();
    for (let run = 0; run < 12; run++) {
      const { pushers, woken } = makePushers();
      await wakeDue(asOperator(), pushers);
      expect(woken).toHaveLength(500);
      for (const { organization } of woken) if (organization.startsWith('sweep-')) seen.add(organization);
    }
    expect(seen.size).toBe(700);
    expect(loggedLines('push_job_full')).toHaveLength(12);
    await env.DB.prepare(
      "insert into pushes (organization_id, confirmed_seq, attempts) select id, 1, 0 from organizations where id glob 'sweep-*'",
    ).run();
  });

  test('the push job continues if an object cannot be woken', async () => {
    const organizations = await Promise.all(Array.from({ length: 8 }, async () => (await makeWorld()).organization));
    const { pushers, woken } = makePushers(() => Promise.reject(new Error('overloaded')));
    await wakeDue(asOperator(), pushers);
    const names = woken.map(({ organization }) => organization);
    expect(organizations.filter((id) => !names.includes(id))).toEqual([]);
    loggedLines('push_wake_failed');
  });

  test('the second cron runs the push job but not the hourly job, and does nothing without a receiver', async () => {
    const { organization } = await makeWorld();
    const run = (cron: string) => worker.scheduled({ cron, scheduledTime: Date.now(), noRetry: () => undefined }, env);
    await run(CRON_TRIGGERS.frequent);
    expect(loggedLines('database_size')).toEqual([]);
    expect(await pushRow(organization)).toBeNull();
    await run(CRON_TRIGGERS.hourly);
    expect(loggedLines('database_size')).toHaveLength(1);
  });
});
