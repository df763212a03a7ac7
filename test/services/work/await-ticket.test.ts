import { afterEach, describe, expect, test, vi } from 'vitest';
import { connectionOf } from '../../support/psa-calls.ts';
import {
  importRecords,
  makeCountedApi,
  makeKey,
  makeOrganization,
  NOTE,
  problemOf,
  revoke,
  seenByProber,
  TIME,
} from '../../support/world.ts';

// How requests wait for a ticket that an adapter may be about to send. No test waits: `sleep` is replaced.

const PATHS = [
  ['notes', NOTE, 201],
  ['time-entries', TIME, 201],
  ['notes/dry-run', NOTE, 200],
  ['time-entries/dry-run', TIME, 200],
] as const;
const EVERY = 2_000;
const NEW_TICKET = '4711';

afterEach(() => {
  vi.useRealTimers();
});

/** The header of a request for another event: a write without it does not wait. */
const newEvent = (): Record<string, string> => ({ 'Idempotency-Key': `triage:${crypto.randomUUID()}` });

/** An organization whose adapter has just reported, and an isolate. `onSleep` runs while a request waits. */
async function makeWorld() {
  const organization = await makeOrganization();
  const report = (failure: string | null = null) =>
    connectionOf(organization).reportConnection(
      '01a3b2c4-5d6e-4f80-9a1b-2c3d4e5f6072',
      failure === null ? null : { reason: failure, isStopped: false },
    );
  await report();
  const world = {
    organization,
    report,
    key: (await makeKey(organization)).value,
    slept: [] as number[],
    onSleep: async (): Promise<unknown> => undefined,
    addTicket: (id = NEW_TICKET) => importRecords({ type: 'ticket', organization, id, company: 'acme' }),
    now: Date.now(),
  };
  const { api, d1 } = makeCountedApi({
    now: () => world.now,
    sleep: async (ms) => {
      world.slept.push(ms);
      await world.onSleep();
    },
  });
  const write = (path = 'notes', body: object = NOTE, key = world.key, ticket = NEW_TICKET, headers = newEvent()) =>
    api.post(`/api/v1/tickets/${ticket}/${path}`, key, body, headers);
  /** What a caller can see of a note for a ticket, and what the service does for it. */
  const seenOf = async (key: string, ticket: string, headers: Record<string, string>) => {
    world.slept.length = 0;
    await api.settled();
    d1.length = 0;
    const response = await write('notes', NOTE, key, ticket, headers);
    // Counted before the refusal is recorded, which follows the response.
    const calls = d1.length;
    const { status, headers: fields, body } = await seenByProber(response);
    const shown = body.replaceAll(ticket, 'ID').replace(/"requestId":"[^"]+"/, '');
    const limits = fields.filter(([name]) => name !== 'ratelimit');
    return { status, fields: limits, shown, slept: [...world.slept], calls };
  };
  return Object.assign(world, { api, d1, write, seenOf });
}

/** Requests wait until `release`, which lets all of them look once. */
function holdSleeps(world: Awaited<ReturnType<typeof makeWorld>>) {
  let held: (() => void)[] = [];
  world.onSleep = () => new Promise<void>((resolve) => held.push(resolve));
  return {
    waiting: () => held.length,
    release: () => {
      for (const end of held.splice(0)) end();
      held = [];
    },
  };
}

describe.each(PATHS)('%s', (path, body, accepted) => {
  test.each([1, 2, 3, 4])('a request whose ticket is known at look %s is accepted then', async (looks) => {
    const world = await makeWorld();
    world.onSleep = async () => {
      if (world.slept.length === looks) await world.addTicket();
    };
    const response = await world.write(path, body);
    expect([response.status, world.slept]).toEqual([accepted, Array(looks).fill(EVERY)]);
    expect(response.headers.get('Retry-After')).toBeNull();
  });

  test('a request for a ticket that stays unknown looks four times, and gets 404 with Retry-After', async () => {
    const world = await makeWorld();
    const response = await world.write(path, body);
    expect([response.headers.get('Retry-After'), world.slept]).toEqual(['10', Array(4).fill(EVERY)]);
    expect(await problemOf(response)).toBe('404 ticket_not_found');
  });
});

test('a request for a known ticket does not wait', async () => {
  const world = await makeWorld();
  for (const [path, body, accepted] of PATHS)
    expect((await world.write(path, body, world.key, '1001')).status).toBe(accepted);
  expect(world.slept).toEqual([]);
});

test('an unknown ticket, a closed one, one of another company and the record of another key there wait alike', async () => {
  const world = await makeWorld();
  const { organization } = world;
  const { value: bound } = await makeKey(organization, { companies: 'acme' });
  await importRecords({ type: 'ticket', organization, id: '1003', company: 'acme', active: false });
  const replay = { 'Idempotency-Key': 'used' };
  expect((await world.write('notes', NOTE, world.key, '1002', replay)).status).toBe(201);
  expect((await world.write('notes', NOTE, bound, '1001')).status).toBe(201);
  const seen = [];
  for (const ticket of [NEW_TICKET, '1003', '1002']) seen.push(await world.seenOf(bound, ticket, newEvent()));
  seen.push(await world.seenOf(bound, '1002', replay));
  expect(seen).toEqual(Array(4).fill(seen[0]));
  // The insert, the reason why it did nothing, and four looks.
  expect(seen[0]).toMatchObject({ status: 404, slept: Array(4).fill(EVERY), calls: 6 });
});

test.each(PATHS)('without an Idempotency-Key, a dry run waits and a write does not: %s', async (path, body) => {
  const world = await makeWorld();
  const response = await world.write(path, body, world.key, NEW_TICKET, {});
  const looks = path.endsWith('dry-run') ? 4 : 0;
  expect([response.headers.get('Retry-After'), world.slept]).toEqual(['10', Array(looks).fill(EVERY)]);
  expect(await problemOf(response)).toBe('404 ticket_not_found');
});

test('without an Idempotency-Key, an unknown ticket, a closed one and one of another company get the same 404 immediately', async () => {
  const world = await makeWorld();
  const { organization } = world;
  const { value: bound } = await makeKey(organization, { companies: 'acme' });
  await importRecords({ type: 'ticket', organization, id: '1003', company: 'acme', active: false });
  expect((await world.write('notes', NOTE, bound, '1001', {})).status).toBe(201);
  const seen = [];
  for (const ticket of [NEW_TICKET, '1003', '1002']) seen.push(await world.seenOf(bound, ticket, {}));
  expect(seen).toEqual(Array(3).fill(seen[0]));
  // The insert, and the reason why it did nothing.
  expect(seen[0]).toMatchObject({ status: 404, slept: [], calls: 2 });
});

test.each([
  ['no adapter', async () => makeWorldWithout()],
  [
    'an adapter that reports a failure',
    async () => {
      const world = await makeWorld();
      await world.report('HTTP 500');
      return world;
    },
  ],
  [
    'an adapter that has been silent for more than two minutes',
    async () => {
      const world = await makeWorld();
      world.now += 121_000;
      return world;
    },
  ],
])('with %s, an unknown ticket gets its 404 immediately and without Retry-After', async (_, makeIt) => {
  const world = await makeIt();
  const response = await world.write();
  expect([response.headers.get('Retry-After'), world.slept]).toEqual([null, []]);
  expect(await problemOf(response)).toBe('404 ticket_not_found');
});

/** Like `makeWorld`, without an adapter. */
async function makeWorldWithout() {
  const [world, organization] = await Promise.all([makeWorld(), makeOrganization()]);
  return Object.assign(world, { key: (await makeKey(organization)).value });
}

test('an adapter that fails while a request waits ends the wait', async () => {
  const world = await makeWorld();
  world.onSleep = () => world.report('HTTP 500');
  const response = await world.write();
  expect([response.status, response.headers.get('Retry-After'), world.slept]).toEqual([404, null, [EVERY]]);
});

test('a key that is revoked while its request waits gets the 401 of an unknown key at the next look', async () => {
  const world = await makeWorld();
  const { value, id } = await makeKey(world.organization);
  world.onSleep = () => revoke(world.organization, id);
  const seen = await seenByProber(await world.write('notes', NOTE, value));
  expect(seen).toEqual(await seenByProber(await world.write('notes', NOTE, 'unknown')));
  expect(seen.status).toBe(401);
  expect(world.slept).toEqual([EVERY]);
});

describe('a flood of unknown tickets', () => {
  const FLOOD = 40;

  test('five requests of a key wait, the others get their 404 immediately, and another key writes meanwhile', async () => {
    const world = await makeWorld();
    const { waiting, release } = holdSleeps(world);
    const { value: other } = await makeKey(world.organization);
    for (const key of [world.key, other]) expect((await world.write('notes', NOTE, key, '1001')).status).toBe(201);
    world.d1.length = 0;
    const statuses: number[] = [];
    const flood = Array.from({ length: FLOOD }, async (_, id) => {
      statuses.push((await world.write('notes', NOTE, world.key, `unknown-${id}`)).status);
    });
    await vi.waitFor(() => expect([statuses.length, waiting()]).toEqual([FLOOD - 5, 5]));
    expect(new Set(statuses)).toEqual(new Set([404]));
    await world.api.settled();
    const calls = () => world.d1.splice(0).length;
    // An insert and the reason for each, and the ten refusals of a key that are recorded in a minute.
    expect(calls()).toBe(2 * FLOOD + 10);
    expect((await world.write('notes', NOTE, other, '1001')).status).toBe(201);
    expect(calls()).toBe(1);
    for (let look = 1; look <= 4; look++) {
      release();
      await vi.waitFor(() => expect([world.d1.length, waiting()]).toEqual([5, look < 4 ? 5 : 0]));
      expect(calls()).toBe(5);
    }
    await Promise.all(flood);
    expect(statuses).toEqual(Array(FLOOD).fill(404));
    await world.api.settled();
    // The places are free again.
    void world.write();
    await vi.waitFor(() => expect(waiting()).toBe(1));
  });

  test('the place of a request whose caller is gone is free again after 15 seconds', async () => {
    const world = await makeWorld();
    const { waiting } = holdSleeps(world);
    for (let request = 0; request < 5; request++) void world.write();
    await vi.waitFor(() => expect(waiting()).toBe(5));
    expect((await world.write()).status).toBe(404);
    world.now += 15_000;
    void world.write();
    await vi.waitFor(() => expect(waiting()).toBe(6));
  });
});

describe('the deadline of the request', () => {
  /** A world whose machine has a clock that only waits move. */
  async function makeSlowWorld() {
    const world = await makeWorld();
    await world.write('notes', NOTE, world.key, '1001');
    vi.useFakeTimers({ toFake: ['Date'] });
    const startedAt = Date.now();
    return { world, elapsed: () => Date.now() - startedAt };
  }

  test('a ticket that is known at the last look, after eight seconds, is written to', async () => {
    const { world, elapsed } = await makeSlowWorld();
    world.onSleep = async () => {
      vi.setSystemTime(Date.now() + EVERY + 50);
      if (world.slept.length === 4) await world.addTicket();
    };
    expect((await world.write()).status).toBe(201);
    expect(elapsed()).toBe(4 * (EVERY + 50));
  });

  test('a request does not wait for a look that may end after it', async () => {
    const { world, elapsed } = await makeSlowWorld();
    world.onSleep = async () => vi.setSystemTime(Date.now() + EVERY + 400);
    const response = await world.write();
    expect([response.status, response.headers.get('Retry-After')]).toEqual([404, '10']);
    expect([elapsed(), world.slept.length]).toEqual([3 * (EVERY + 400), 3]);
  });
});
