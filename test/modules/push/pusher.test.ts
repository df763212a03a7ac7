import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { seqOf } from '../../../src/domain/change.ts';
import { pushControlOf } from '../../../src/modules/push/push-control.ts';
import { wakeDue } from '../../../src/modules/push/wake-due.ts';
import { beginErasure } from '../../../src/services/directory/erase-organization.ts';
import { resumePush } from '../../../src/services/work/push-control.ts';
import { aroundD1, committingTwice, withoutWrites } from '../../support/d1.ts';
import { eraseOrganization } from '../../support/erase-organization.ts';
import { addChanges } from '../../support/many-changes.ts';
import { elementsOf } from '../../support/page.ts';
import { lastCursor, resultOf, work } from '../../support/psa-calls.ts';
import type { PushedPage } from '../../support/receiver.ts';
import { linesAbout } from '../../support/searched-logs.ts';
import { openSettings, signIn } from '../../support/settings.ts';
import { asOperator, importRecords, makeApi } from '../../support/world.ts';
import { makePsa } from '../psa/support.ts';
import {
  type Answer,
  answering,
  asPushOperator,
  expectDelivered,
  feedOf,
  makeGate,
  makePushed,
  PUSH,
  pushOthers,
  pushRow,
  storedBy,
  usePush,
  WEBHOOK_URL,
  waitFor,
  waitForRow,
} from './support.ts';

const push = usePush();

const objectOf = (organization: string) => env.PUSHER.getByName(organization);
/** Runs the alarm now, whenever it is due. Returns whether there was one. */
const runAlarm = (organization: string) => runDurableObjectAlarm(objectOf(organization));
const deliveriesOf = (organization: string) => push.receiver.deliveriesOf(organization);
/** Wakes the object and waits until it has pushed everything, and has copied its state. */
async function drain(organization: string): Promise<void> {
  await deliver(organization);
  await waitForRow(organization, { confirmed_seq: seqOf(await lastCursor(organization)) });
}

/** Wakes the object and waits until it has pushed everything. */
async function deliver(organization: string): Promise<void> {
  const cursor = await lastCursor(organization);
  await objectOf(organization).wake(organization);
  await waitFor(async () =>
    expect(await storedBy(organization)).toMatchObject({ state: { cursor, pageEnd: null }, alarm: null }),
  );
}

/** An organization whose first push got this answer; the next ones get 200. */
async function makeFailed(answer: Answer) {
  const pushed = await makePushed();
  const { organization, key, api } = pushed;
  let attempts = 0;
  push.answers.set(organization, (...args) => {
    attempts += 1;
    return answer(...args);
  });
  await api.postNote(key);
  await waitForRow(organization, { attempts: 1 });
  expect(attempts).toBe(1);
  push.answers.delete(organization);
  return { ...pushed, row: await pushRow(organization), stored: await storedBy(organization) };
}

describe('an object', () => {
  test('delivers a write immediately, signed, in the form of the feed', async () => {
    const { organization, key, api } = await makePushed();
    await api.postNote(key);
    await expectDelivered(push.receiver, organization);
    const { url, init } = push.requests.at(-1) ?? {};
    expect([url, init?.method, init?.redirect]).toEqual([WEBHOOK_URL, 'POST', 'manual']);
    expect(init?.headers).toMatchObject({
      'Content-Type': 'application/json',
      'User-Agent': expect.stringMatching(/^Ticket-Write-Back-API/),
    });
    await waitForRow(organization, { confirmed_seq: 2, attempts: 0 });
    expect((await storedBy(organization)).alarm).toBeNull();
  });

  test('delivers pages of at most 100 changes, in order, and continues in further alarms', async () => {
    const { organization } = await makePushed();
    await addChanges(organization, 2_249);
    await objectOf(organization).wake(organization);
    await waitForRow(organization, { confirmed_seq: 2_250 });
    const ranges = deliveriesOf(organization).map(({ range }) => range);
    expect(ranges).toEqual(
      Array.from({ length: 23 }, (_, page) => [100 * page + 1, Math.min(100 * page + 100, 2_250)]),
    );
    await expectDelivered(push.receiver, organization);
  });

  test('delivers pages of at most 512 KiB', async () => {
    const { organization, key, quiet } = await makePushed();
    // 94 KiB each.
    for (let note = 0; note < 7; note++) await quiet.postNote(key, { message: `${'€'.repeat(31_999)}${note}` });
    await drain(organization);
    await expectDelivered(push.receiver, organization);
    const [first, second, ...more] = deliveriesOf(organization).map(({ bytes }) => bytes);
    expect(more).toEqual([]);
    // Four notes: a fifth would not leave room for the page to grow.
    expect(first).toBeGreaterThan(350 * 1024);
    expect(first).toBeLessThanOrEqual(512 * 1024);
    expect(second).toBeLessThanOrEqual(512 * 1024);
  });

  test('does nothing without a receiver, and delivers everything once there is one', async () => {
    Object.assign(env, { WEBHOOK_URL: '' });
    const { organization, key, api } = await makePushed();
    await api.postNote(key);
    await api.settled();
    const stored = await storedBy(organization);
    Object.assign(env, { WEBHOOK_URL });
    expect(stored).toEqual({ state: undefined, alarm: null });
    await evictDurableObject(objectOf(organization));
    await drain(organization);
    await expectDelivered(push.receiver, organization);
  });

  test('writes nothing to the database when there is nothing new', async () => {
    const { organization } = await makePushed();
    await drain(organization);
    await waitFor(async () => expect(await pushRow(organization)).not.toBeNull());
    const before = await pushRow(organization);
    await env.DB.prepare('update pushes set attempts = 77 where organization_id = ?').bind(organization).run();
    await objectOf(organization).wake(organization);
    // The alarm runs at once, and takes a few milliseconds.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await storedBy(organization)).alarm).toBeNull();
    expect(await pushRow(organization)).toEqual({ ...before, attempts: 77 });
  });
});

const hanging: Answer = (_, { signal }) =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
const IN_TWO_HOURS = new Date(Date.now() + 7_200_000).toUTCString();

describe('an unconfirmed page', () => {
  test.each<[string, string, Answer, [min: number, max: number]]>([
    ['HTTP 500', 'HTTP 500', answering(500), [5_000, 10_000]],
    ['HTTP 404', 'HTTP 404', answering(404), [5_000, 10_000]],
    ['a redirect', 'HTTP 302', answering(302, { Location: 'https://elsewhere.example/' }), [5_000, 10_000]],
    ['Retry-After in seconds', 'HTTP 429', answering(429, { 'Retry-After': '120' }), [120_000, 120_000]],
    ['Retry-After as a date', 'HTTP 503', answering(503, { 'Retry-After': IN_TWO_HOURS }), [7_100_000, 7_200_000]],
    ['a disconnect', 'no connection', () => Promise.reject(new TypeError('reset by https://x')), [5_000, 10_000]],
    [
      'a disconnect after the receiver has stored it',
      'no connection',
      (receive) => {
        receive();
        throw new TypeError('reset');
      },
      [5_000, 10_000],
    ],
  ])('the page is sent again with the same id after a pause: %s', async (_, failure, answer, [min, max]) => {
    const { organization, stored, row, key, quiet } = await makeFailed(answer);
    const pause = Number(stored.alarm) - Number(row?.['failing_since']);
    expect(pause).toBeGreaterThanOrEqual(min - 50);
    expect(pause).toBeLessThanOrEqual(max + 50);
    expect(row).toMatchObject({ failure, attempts: 1, confirmed_seq: 0, next_attempt_at: stored.alarm });
    const level = max < 600_000 ? 'warn' : 'error';
    expect(linesAbout(organization, 'push_failed', level)).toMatchObject([{ organization, failure, attempts: 1 }]);
    const attempts = () => push.requests.filter(({ init }) => String(init.body).includes(`"${organization}"`));
    const idOf = (index: number) => new Headers(attempts()[index]?.init.headers).get('webhook-id');

    // What was written since is not added to the page, and does not end the pause.
    await quiet.postNote(key);
    await objectOf(organization).wake(organization);
    expect((await storedBy(organization)).alarm).toBe(stored.alarm);
    expect(attempts()).toHaveLength(1);
    expect(await runAlarm(organization)).toBe(true);
    expect(idOf(1)).toBe(idOf(0));
    expect(
      deliveriesOf(organization)
        .map(({ range }) => range)
        .slice(-2),
    ).toEqual([
      [1, 2],
      [3, 3],
    ]);
    await expectDelivered(push.receiver, organization);
    expect(linesAbout(organization, 'push_recovered')).toMatchObject([{ organization, attempts: 1 }]);
    expect(await pushRow(organization)).toMatchObject({
      confirmed_seq: 3,
      attempts: 0,
      failure: null,
      failing_since: null,
      next_attempt_at: null,
    });
  });

  test('an attempt ends after 15 s if the receiver does not respond', async () => {
    const setTimer = globalThis.setTimeout;
    const spy = vi
      .spyOn(globalThis, 'setTimeout')
      .mockImplementation((run, ms, ...args) => setTimer(run, ms === 15_000 ? 30 : ms, ...args));
    const { organization, row, stored } = await makeFailed(hanging);
    spy.mockRestore();
    expect(row).toMatchObject({ failure: 'no response within 15 s' });
    expect(stored.state).toMatchObject({ pageEnd: null, limit: 1 });
    await runAlarm(organization);
    await expectDelivered(push.receiver, organization);
  });

  test('the page is sent again without a text that was redacted since', async () => {
    const { organization } = await makeFailed(answering(500));
    const [, change] = await feedOf(organization);
    resultOf(await work.redactRecord(organization, 'note', change?.targetId ?? '', 'Ada'));
    await runAlarm(organization);
    expect(push.receiver.changesOf(organization)[1]?.note?.message.text).toBe('[redacted]');
    await expectDelivered(push.receiver, organization);
  });

  test('the page is retried with a longer pause, and its failure is an error in the log after ten minutes', async () => {
    const { organization } = await makeFailed(answering(500));
    push.answers.set(organization, answering(500));
    const before = Date.now();
    await runAlarm(organization);
    const pause = Number((await storedBy(organization)).alarm) - before;
    expect([pause >= 9_950, pause <= 20_050]).toEqual([true, true]);
    expect(linesAbout(organization, 'push_failed', 'error')).toEqual([]);
    await runInDurableObject(objectOf(organization), (_, { storage }) => {
      const state = storage.kv.get<{ failure: { since: number } }>('state');
      storage.kv.put('state', { ...state, failure: { ...state?.failure, since: Date.now() - 600_000 } });
    });
    await runAlarm(organization);
    expect(linesAbout(organization, 'push_failed', 'error')).toMatchObject([
      { organization, attempts: 3, failure: 'HTTP 500' },
    ]);
  });

  test('the confirmation is reported immediately, although more pages wait', async () => {
    const { organization } = await makeFailed(answering(500));
    await addChanges(organization, 10);
    const gate = makeGate();
    push.answers.set(organization, async (receive) => {
      if (gate.waiting() === 0 && deliveriesOf(organization).length === 1) await gate.wait();
      receive();
      return new Response();
    });
    const alarm = runAlarm(organization);
    await waitFor(() => expect(gate.waiting()).toBe(1));
    expect(await pushRow(organization)).toMatchObject({ failing_since: null, attempts: 0, confirmed_seq: 2 });
    gate.open();
    await alarm;
    await expectDelivered(push.receiver, organization);
  });
});

/** For each request for an organization: the first and last `seq`, and the message's id. */
const sentTo = (organization: string) =>
  push.requests.flatMap(({ init }) => {
    const { data }: PushedPage = JSON.parse(String(init.body));
    const [first, last] = [data.changes[0]?.seq, data.changes.at(-1)?.seq];
    const id = new Headers(init.headers).get('webhook-id');
    return data.organization === organization ? [{ range: [first, last], id }] : [];
  });
const rangesTo = (organization: string) => sentTo(organization).map(({ range }) => range);
const limitOf = async (organization: string) => (await storedBy(organization)).state?.['limit'];

/** Answers with this status while a page has more changes than this, and confirms smaller ones after `ms`. */
const upTo =
  (count: number, status: number, ms = 0): Answer =>
  async (receive, init) => {
    const { data }: PushedPage = JSON.parse(String(init.body));
    if (data.changes.length > count) return new Response(null, { status });
    if (ms > 0) vi.setSystemTime(Date.now() + ms);
    receive();
    return new Response(null);
  };

describe("a page that exceeds the receiver's capacity", () => {
  test.each([408, 413, 504, 524])(
    'a page that gets %i is sent again with half as many changes, down to one, after short pauses',
    async (status) => {
      const { organization } = await makePushed();
      await addChanges(organization, 12);
      push.answers.set(organization, upTo(0, status));
      await objectOf(organization).wake(organization);
      await waitForRow(organization, { attempts: 1 });
      for (const attempts of [1, 1, 2, 3]) {
        const pause = Number((await storedBy(organization)).alarm) - Date.now();
        expect(pause).toBeLessThanOrEqual(attempts === 3 ? 20_000 : 10_000);
        await runAlarm(organization);
        expect(await pushRow(organization)).toMatchObject({ attempts, failure: `HTTP ${status}`, confirmed_seq: 0 });
      }
      expect(rangesTo(organization)).toEqual([
        [1, 13],
        [1, 6],
        [1, 3],
        [1, 1],
        [1, 1],
      ]);
      const ids = sentTo(organization).map(({ id }) => id);
      expect(ids[3]).toBe(ids[4]);
      expect(new Set(ids).size).toBe(4);
      push.answers.delete(organization);
      await runAlarm(organization);
      await expectDelivered(push.receiver, organization);
      expect(rangesTo(organization).slice(5)).toEqual([
        [1, 1],
        [2, 3],
        [4, 7],
        [8, 13],
      ]);
    },
  );

  test('a halved page that fails for another reason is sent again under the same id', async () => {
    const { organization, key, quiet } = await makePushed();
    await addChanges(organization, 7);
    push.answers.set(organization, upTo(4, 413));
    await objectOf(organization).wake(organization);
    await waitForRow(organization, { attempts: 1 });
    push.answers.set(organization, answering(500));
    await runAlarm(organization);
    await quiet.postNote(key);
    await evictDurableObject(objectOf(organization));
    push.answers.delete(organization);
    await runAlarm(organization);
    const sent = sentTo(organization);
    expect(sent.map(({ range }) => range)).toEqual([
      [1, 8],
      [1, 4],
      [1, 4],
      [5, 9],
    ]);
    expect(sent[1]?.id).toBe(sent[2]?.id);
    await expectDelivered(push.receiver, organization);
  });

  test('the page stays small while it takes half of the time limit or more, and grows when it takes less', async () => {
    const { organization } = await makePushed();
    await addChanges(organization, 99);
    // By the runtime's clock, later alarms are due in the future, so only runAlarm runs them.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const pushAll = async () => {
      await objectOf(organization).wake(organization);
      await runAlarm(organization);
    };
    try {
      push.answers.set(organization, upTo(25, 504, 7_500));
      await objectOf(organization).wake(organization);
      await waitForRow(organization, { attempts: 1 });
      await runAlarm(organization);
      await runAlarm(organization);
      expect(rangesTo(organization)).toEqual([
        [1, 100],
        [1, 50],
        [1, 25],
        [26, 50],
        [51, 75],
        [76, 100],
      ]);
      expect(await limitOf(organization)).toBe(25);

      await addChanges(organization, 1);
      push.answers.set(organization, upTo(100, 504, 7_000));
      await pushAll();
      // One change in that time does not show that more than two fit.
      expect(await limitOf(organization)).toBe(25);
      await addChanges(organization, 200);
      await pushAll();
      expect(rangesTo(organization).slice(6)).toEqual([
        [101, 101],
        [102, 126],
        [127, 176],
        [177, 276],
        [277, 301],
      ]);
    } finally {
      vi.useRealTimers();
    }
    await expectDelivered(push.receiver, organization);
  });
});

describe('a 410', () => {
  test('a 410 stops the organization, whatever is written', async () => {
    const { organization, key, quiet, row, stored } = await makeFailed(answering(410));
    expect(row).toMatchObject({ failure: 'HTTP 410', stopped_at: expect.any(Number), next_attempt_at: null });
    expect(stored.alarm).toBeNull();
    expect(linesAbout(organization, 'push_stopped', 'error')).toMatchObject([{ organization }]);
    await quiet.postNote(key);
    await objectOf(organization).wake(organization);
    await evictDurableObject(objectOf(organization));
    await objectOf(organization).wake(organization);
    expect((await storedBy(organization)).alarm).toBeNull();
  });
});

/** The settings area, as an administrator sees it. */
async function signInTo(organization: string) {
  const email = `ada@${organization}.example`;
  await importRecords({ type: 'user', organization, id: 'ada', email, name: 'Ada', admin: true });
  return openSettings(makeApi({ config: { signIn: signIn.config, receiver: PUSH } }), organization, email);
}

test.each<[string, (organization: string) => Promise<unknown>, unknown]>([
  [
    'a signed message',
    (organization) => makePsa({ config: { receiver: PUSH } }).call('push.resume', { organization, by: 'Ada' }),
    [200, { ok: true, value: { status: 'resumed' } }],
  ],
  [
    'the button of the page about the push',
    async (organization) => {
      const { get, post } = await signInTo(organization);
      const forms = await elementsOf((await get('/push')).text, 'main form');
      const [action = ''] = forms.map(({ attributes }) => attributes['action']);
      expect(action).toBe(`/settings/${organization}/push/resume`);
      return (await post('/push/resume', '')).status;
    },
    303,
  ],
])('%s resumes a push that is stopped, immediately', async (_, resume, result) => {
  const { organization } = await makeFailed(answering(410));
  await evictDurableObject(objectOf(organization));
  expect(await resume(organization)).toEqual(result);
  await expectDelivered(push.receiver, organization);
  expect((await feedOf(organization)).at(-1)).toMatchObject({
    action: 'push.resumed',
    actor: { name: { text: 'Ada' } },
  });
  expect(await pushRow(organization)).toMatchObject({ stopped_at: null, failure: null });
});

test('a wake during an attempt that ends with 410 causes no further attempt', async () => {
  const { organization, key, api } = await makePushed();
  const gate = makeGate();
  push.answers.set(organization, async () => {
    await gate.wait();
    return new Response(null, { status: 410 });
  });
  await api.postNote(key);
  await waitFor(() => expect(gate.waiting()).toBe(1));
  await objectOf(organization).wake(organization);
  gate.open();
  await waitFor(async () => expect(await storedBy(organization)).toMatchObject({ alarm: null }));
  expect(gate.waiting()).toBe(1);
  expect(await pushRow(organization)).toMatchObject({ attempts: 1, stopped_at: expect.any(Number) });
});

describe('an order of an operator', () => {
  test('an order to resume ends a pause, and the next pause is short again', async () => {
    const { organization } = await makeFailed(answering(503, { 'Retry-After': '3600' }));
    push.answers.set(organization, answering(500));
    await evictDurableObject(objectOf(organization));
    await resumePush(asPushOperator(), { organization, by: 'Ada' });
    await waitForRow(organization, { failure: 'HTTP 500', attempts: 1 });
    expect(Number((await storedBy(organization)).alarm) - Date.now()).toBeLessThanOrEqual(10_000);
  });

  test.each([410, 503])('after a %i, orders to resume do nothing for 10 seconds, and each counts', async (status) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    const { organization, stored } = await makeFailed(answering(status, { 'Retry-After': '3600' }));
    const { post } = await signInTo(organization);
    const resume = () => resumePush(asPushOperator(), { organization, by: 'Ada' });
    const failedAt = Date.now();
    for (let i = 0; i < 2; i++) expect((await post('/push/resume', '')).status).toBe(303);
    expect([await resume(), await storedBy(organization)]).toEqual([{ status: 'unchanged' }, stored]);
    vi.setSystemTime(failedAt + 9_000);
    expect([await resume(), await storedBy(organization)]).toEqual([{ status: 'unchanged' }, stored]);
    vi.setSystemTime(failedAt + 10_000);
    expect(await resume()).toEqual({ status: 'resumed' });
    await expectDelivered(push.receiver, organization);
    const actions = (await feedOf(organization)).map(({ action }) => action);
    expect(actions.filter((action) => action === 'push.resumed')).toHaveLength(5);
  });

  test('an order to resume corrects the copy of a restored database that shows a stop', async () => {
    const { organization } = await makeFailed(answering(410));
    await evictDurableObject(objectOf(organization));
    expect(await resumePush(asPushOperator(), { organization, by: 'Ada' })).toEqual({ status: 'resumed' });
    await expectDelivered(push.receiver, organization);
    await env.DB.prepare(
      "update pushes set stopped_at = 1, failing_since = 1, failure = 'HTTP 410' where organization_id = ?",
    )
      .bind(organization)
      .run();
    await evictDurableObject(objectOf(organization));
    expect(await resumePush(asPushOperator(), { organization, by: 'Ada' })).toEqual({ status: 'unchanged' });
    await expectDelivered(push.receiver, organization);
    expect(await pushRow(organization)).toMatchObject({ stopped_at: null, failure: null });
  });

  test('an order can be repeated if the object or the database did not respond', async () => {
    const { organization } = await makeFailed(answering(410));
    await evictDurableObject(objectOf(organization));
    const broken = () => Promise.reject(new Error('overloaded'));
    const pushControl = pushControlOf({ getByName: () => ({ resume: broken }) });
    const request = { organization, by: 'Ada' };
    const before = await pushRow(organization);
    await expect(resumePush({ ...asPushOperator(), pushControl }, request)).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(await pushRow(organization)).toEqual(before);
    expect(await resumePush(asPushOperator(committingTwice(env.DB)), request)).toEqual({ status: 'resumed' });
    await expectDelivered(push.receiver, organization);
    const actions = (await feedOf(organization)).map(({ action }) => action);
    expect(actions.filter((action) => action === 'push.resumed')).toHaveLength(2);
  });

  test.each([500, 410])("an order during an attempt is not undone by the attempt's end with %i", async (status) => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const { organization } = await makeFailed(answering(500));
    const gate = makeGate();
    push.answers.set(organization, async () => {
      await gate.wait();
      push.answers.set(organization, answering(200));
      return new Response(null, { status });
    });
    const alarm = runAlarm(organization);
    await waitFor(() => expect(gate.waiting()).toBe(1));
    vi.setSystemTime(Date.now() + 11_000);
    expect(await resumePush(asPushOperator(), { organization, by: 'Ada' })).toEqual({ status: 'resumed' });
    gate.open();
    await alarm;
    await expectDelivered(push.receiver, organization);
    expect((await storedBy(organization)).state).toMatchObject({ failure: null, stoppedAt: null });
  });

  test('an order during a read of the feed is not undone if the read fails', async () => {
    const { organization } = await makeFailed(answering(500));
    const gate = makeGate();
    const database = env.DB;
    const broken = aroundD1(database, async (run, statements) => {
      if (statements === 1) return run();
      await gate.wait();
      throw new Error('D1 DB is overloaded');
    });
    // Otherwise an order so soon after an attempt does nothing.
    await evictDurableObject(objectOf(organization));
    await withDatabase(organization, broken, async () => {
      const alarm = runAlarm(organization);
      await waitFor(() => expect(gate.waiting()).toBe(1));
      expect(await resumePush(asPushOperator(database), { organization, by: 'Ada' })).toEqual({ status: 'resumed' });
      gate.open();
      await alarm;
      // The read before the order is not a second failure.
      const failure = { failure: 'the database did not respond', attempts: 1 };
      await waitFor(async () => expect((await storedBy(organization)).state).toMatchObject({ failure }));
    });
  });

  test('an order to resume needs an organization, and a push', async () => {
    const [own, other] = [await makePushed(), await makePushed()];
    const { organization } = own;
    await drain(organization);
    await expect(resumePush(asPushOperator(), { organization: 'nobody', by: 'Ada' })).rejects.toMatchObject({
      code: 'organization_not_found',
    });
    expect(await resumePush(asPushOperator(), { organization: other.organization, by: 'Ada' })).toEqual({
      status: 'unchanged',
    });
    expect(await feedOf(organization)).toHaveLength(1);
    await expect(resumePush(asOperator(), { organization, by: 'Ada' })).rejects.toMatchObject({ code: 'not_pushed' });
  });
});

/** Gives the object of an organization another database for a while. Those of others wake whenever they like. */
async function withDatabase(organization: string, DB: D1Database, run: () => Promise<unknown>): Promise<void> {
  const setEnv = (bindings: Env) =>
    runInDurableObject(objectOf(organization), (pusher) => Object.assign(pusher, { env: bindings }));
  await setEnv({ ...env, DB });
  try {
    await run();
  } finally {
    await setEnv(env);
  }
}

describe('the feed', () => {
  test('a feed that cannot be read is a failure like any other', async () => {
    const { organization, key, quiet } = await makePushed();
    await drain(organization);
    await quiet.postNote(key);
    const broken = aroundD1(env.DB, () => Promise.reject(new Error('D1 DB is overloaded')));
    await withDatabase(organization, broken, async () => {
      await objectOf(organization).wake(organization);
      await waitFor(async () =>
        expect((await storedBy(organization)).state).toMatchObject({ failure: { attempts: 1 } }),
      );
      await waitFor(() => expect(linesAbout(organization, 'push_state_not_saved')).toHaveLength(1));
    });
    expect(await storedBy(organization)).toMatchObject({
      state: { failure: { failure: 'the database did not respond' } },
      alarm: expect.any(Number),
    });
    await runAlarm(organization);
    await expectDelivered(push.receiver, organization);
  });

  test('a feed without the confirmed change is pushed again from its start', async () => {
    const { organization, key, api, quiet } = await makePushed();
    await api.postNote(key);
    await expectDelivered(push.receiver, organization);
    await waitFor(async () => expect((await storedBy(organization)).alarm).toBeNull());
    await runInDurableObject(objectOf(organization), (_, { storage }) => {
      const state = storage.kv.get<{ cursor: string }>('state');
      storage.kv.put('state', { ...state, cursor: `${state?.cursor}-of-a-lost-row` });
    });
    await quiet.postNote(key);
    await objectOf(organization).wake(organization);
    await waitFor(() => expect(deliveriesOf(organization).at(-1)?.range).toEqual([1, 3]));
    expect(linesAbout(organization, 'push_restarted', 'warn')).toEqual([
      { event: 'push_restarted', organization, confirmedSeq: 2 },
    ]);
    await expectDelivered(push.receiver, organization);
  });

  test.each([200, 410])(
    'after a last answer of %i to an erased organization, the next run empties the storage',
    async (status) => {
      const { organization, key, quiet } = await makePushed();
      push.answers.set(organization, answering(status));
      await quiet.postNote(key);
      await objectOf(organization).wake(organization);
      const told = { confirmed_seq: status === 200 ? 2 : 0 };
      await waitForRow(organization, told);
      const storage = () =>
        runInDurableObject(objectOf(organization), async (_, { storage }) => ({
          values: [...storage.kv.list()],
          tables: [...storage.sql.exec("select name from sqlite_master where name not like '\\_cf\\_%' escape '\\'")],
          alarm: await storage.getAlarm(),
        }));
      expect((await storage()).values).toHaveLength(1);
      await eraseOrganization(asOperator(), { organization, cursor: await lastCursor(organization), by: 'Ada' });
      await pushOthers(organization);
      await wakeDue(asOperator(), env.PUSHER);
      // A wake that is still under way may store a state, which its own read removes.
      await waitFor(async () => expect(await storage()).toEqual({ values: [], tables: [], alarm: null }));
      expect(await pushRow(organization)).toBeNull();
    },
  );

  test('an organization that is being erased gets nothing more, and its object forgets everything', async () => {
    const { organization, key, quiet } = await makePushed();
    await drain(organization);
    await quiet.postNote(key);
    const cursor = await lastCursor(organization);
    await beginErasure(asOperator(), { organization, cursor, by: 'Ada' });
    await objectOf(organization).wake(organization);
    await waitFor(async () => expect(await storedBy(organization)).toEqual({ state: undefined, alarm: null }));
    expect(deliveriesOf(organization).at(-1)?.range).toEqual([1, 1]);
  });

  test('the feed is delivered although the state cannot be copied to the database', async () => {
    const { organization, key, quiet } = await makePushed();
    await drain(organization);
    await withDatabase(organization, withoutWrites(env.DB, 'D1_ERROR: SQLITE_READONLY'), async () => {
      await quiet.postNote(key);
      await deliver(organization);
    });
    await expectDelivered(push.receiver, organization);
    expect(await pushRow(organization)).toMatchObject({ confirmed_seq: 1 });
    await drain(organization);
    await waitForRow(organization, { confirmed_seq: 2 });
  });
});
