import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Pusher } from '../../../src/modules/push/pusher.ts';
import type { Pushers } from '../../../src/modules/push/wake.ts';
import published from '../../bench/README.md?raw';
import { countD1 } from '../../support/d1.ts';
import { makeApi } from '../../support/world.ts';
import { expectDelivered, makePushed, PUSH, usePush } from './support.ts';

// What the push adds to the cost of a write. The counts of single writes are exact; those of a burst
// depend on how many of its writes the first page has.

const WRITES = 20;
const BURST = 100;

const push = usePush();
const database = env.DB;
const d1 = countD1(database);
/** Rows that objects wrote to their storage. */
let stored = 0;
let alarms = 0;
let wakes = 0;

beforeAll(async () => {
  // SQLite reads one row after a range, if there is one, so the counts would depend on which
  // organization is the last.
  await env.DB.batch([
    env.DB.prepare("insert or ignore into organizations values ('zzzz', 'Last', 1, 'UTC', 0, 1, 'settings')"),
    env.DB.prepare(
      `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id)
       values ('zzzz', 1, 0, 'system', 'psa', '', 'a.b', 'x', 'r')`,
    ),
  ]);
  const { organization } = await makePushed();
  await runInDurableObject(env.PUSHER.getByName(organization), (_, { storage }) => {
    const ofStorage: DurableObjectStorage = Object.getPrototypeOf(storage);
    const ofKv: SyncKvStorage = Object.getPrototypeOf(storage.kv);
    const { setAlarm } = ofStorage;
    const { put } = ofKv;
    vi.spyOn(ofStorage, 'setAlarm').mockImplementation(function (this: DurableObjectStorage, at) {
      stored += 1;
      return setAlarm.call(this, at);
    });
    vi.spyOn(ofKv, 'put').mockImplementation(function (this: SyncKvStorage, key, value) {
      stored += 1;
      put.call(this, key, value);
    });
  });
  const { alarm } = Pusher.prototype;
  vi.spyOn(Pusher.prototype, 'alarm').mockImplementation(function (this: Pusher) {
    alarms += 1;
    return alarm.call(this);
  });
});
afterAll(() => {
  env.DB = database;
});

const pushers: Pushers = {
  getByName: (organization) => ({
    wake: (...args) => {
      wakes += 1;
      return env.PUSHER.getByName(organization).wake(...args);
    },
    forgetErased: () => env.PUSHER.getByName(organization).forgetErased(),
  }),
};

interface Bill {
  objectCalls: number;
  d1Calls: number;
  read: number;
  written: number;
  stored: number;
}

/** What was counted for the push of so many writes, for each write. */
async function countPush(
  writes: number,
  write: (post: () => Promise<Response>, done: (seq: number) => Promise<void>) => Promise<void>,
): Promise<Bill> {
  const { organization, key } = await makePushed();
  const bindings = { PUSHER: Object.assign(Object.create(env.PUSHER), pushers), DB: database };
  const api = makeApi({ config: { receiver: PUSH }, bindings });
  const done = (seq: number) =>
    vi.waitFor(
      async () => {
        // Not through the database that counts.
        const confirmed = database.prepare('select confirmed_seq from pushes where organization_id = ?');
        expect(await confirmed.bind(organization).first('confirmed_seq')).toBe(seq);
      },
      { interval: 3, timeout: 5_000 },
    );
  await api.postNote(key);
  await done(2);
  await api.settled();
  vi.setSystemTime(Date.now() + 2_000);
  [stored, alarms, wakes] = [0, 0, 0];
  d1.calls.length = 0;
  env.DB = d1.db;
  await write(() => api.postNote(key), done);
  await api.settled();
  env.DB = database;
  await expectDelivered(push.receiver, organization);
  const sum = (column: 'rowsRead' | 'rowsWritten') => d1.calls.reduce((total, call) => total + call[column], 0);
  const perWrite = (total: number) => Math.round((total / writes) * 100) / 100;
  return {
    objectCalls: perWrite(wakes + alarms),
    d1Calls: perWrite(d1.calls.length),
    read: perWrite(sum('rowsRead')),
    written: perWrite(sum('rowsWritten')),
    stored: perWrite(stored),
  };
}

test('test/bench/README.md contains the numbers that are counted here', async () => {
  // Earlier than the runtime's own clock, so that alarms are due at once.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
  const single = await countPush(WRITES, async (post, done) => {
    for (let number = 1; number <= WRITES; number++) {
      expect((await post()).status).toBe(201);
      await done(number + 2);
      // The next write is not in the same second, so it wakes the object itself.
      vi.setSystemTime(Date.now() + 1_001);
    }
  });
  let seconds = 0;
  const burst = await countPush(BURST, async (post, done) => {
    const begun = performance.now();
    await Promise.all(Array.from({ length: BURST }, post));
    await done(BURST + 2);
    seconds = (performance.now() - begun) / 1_000;
  });
  expect(single).toEqual({ objectCalls: 2, d1Calls: 2, read: 8, written: 1, stored: 3 });
  const line = (what: string, { objectCalls, d1Calls, read, written, stored }: Bill) =>
    `| ${[what, objectCalls, d1Calls, read, written, stored].join(' | ')} |`;
  expect(published).toContain(line('more than a second after the one before', single));
  const highest = { objectCalls: 0.06, d1Calls: 0.06, read: 3.5, written: 0.03, stored: 0.1 };
  expect(published).toContain(line('one of 100 at once, at most', highest));
  // The table is for a burst within a second: one wake when it begins, one when the second ends. A
  // machine that takes longer for it has one more wake for each second.
  const wakesOfBurst = 1 + Math.ceil(seconds);
  for (const column of ['objectCalls', 'd1Calls', 'read', 'written', 'stored'] as const)
    expect(burst[column], column).toBeLessThanOrEqual((highest[column] * Math.max(2, wakesOfBurst)) / 2);
});
