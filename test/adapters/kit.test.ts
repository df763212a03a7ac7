import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { definition as connectWise } from '../../src/adapters/connectwise/definition.ts';
import { definition as halo } from '../../src/adapters/halo/definition.ts';
import { sender } from '../../src/adapters/kit/send.ts';
import { pendingOf, save } from '../../src/adapters/kit/store.ts';
import { type AdapterEnv, AdapterObject, adapterObjectOf } from '../../src/adapters/kit/worker.ts';
import { handTimeToSettings } from '../../src/services/work/hand-to-settings.ts';
import { eraseOrganization } from '../support/erase-organization.ts';
import { connectionOf, lastCursor } from '../support/psa-calls.ts';
import { asOperator, rowsOf } from '../support/world.ts';
import type { FakeEntry, FakeTicket, MakeFake } from './fake.ts';
import { fakeConnectWise } from './fake-connectwise.ts';
import { fakeHalo } from './fake-halo.ts';
import { fakeRedmine } from './fake-redmine.ts';
import {
  ADA,
  approve,
  connectionRow,
  DAY_MS,
  decide,
  HOUR_MS,
  isWrite,
  MINUTE_MS,
  makeAdapterWorld,
  makeReadyWorld,
  notesOf,
  proveTime,
  refuseAda,
  reportsOf,
  resume,
  statusOf,
  time,
  timesOf,
} from './world.ts';

// What the kit does whatever the PSA is, with the mapping that uses most of it: HaloPSA has tokens, and shows time.

test('two adapters of different PSAs on one storage both deliver, and the alarm of the replaced one does nothing', async () => {
  let now = Date.now();
  const adapterOf = (ADAPTER: string, makeFake: MakeFake) => {
    const fake = makeFake(() => now);
    const ORGANIZATION = `${ADAPTER}-${crypto.randomUUID()}`;
    const bindings: AdapterEnv = Object.assign(Object.create(null), {
      ...{ ADAPTER, ORGANIZATION, ORGANIZATION_NAME: ADAPTER, TIME_ZONE: 'UTC', DEFAULT_HOURLY_RATE: '120' },
      // Any namespace: the adapter below runs with its storage.
      ...{ TEST_TICKET: '501', JURISDICTION: '', ADAPTER_OBJECT: env.RATE_LIMITER },
    });
    class Adapter extends AdapterObject {
      protected override readonly definition = { variables: z.object(), secrets: z.object(), psa: () => fake.psa };
      protected override readonly world = {
        now: () => now,
        sleep: async (ms: number) => {
          now += ms;
        },
        fetch: fake.fetch,
      };
    }
    /** Runs its alarm in an object, and returns whether another one was set. */
    const alarmIn = (object: AdapterEnv) =>
      runInDurableObject(adapterObjectOf(object), async (_, state) => {
        const CONNECTION = connectionOf(ORGANIZATION, ['ada@northwind.example']);
        await new Adapter(state, { ...bindings, CONNECTION }).alarm();
        const isSet = (await state.storage.getAlarm()) !== null;
        await state.storage.deleteAlarm();
        return isSet;
      });
    return { fake, bindings, alarmIn };
  };
  const [first, second] = [adapterOf('halo', fakeHalo), adapterOf('redmine', fakeRedmine)];
  for (const { fake, bindings, alarmIn } of [first, second]) {
    for (let run = 1; run <= 6; run++, now += 10_000) expect(await alarmIn(bindings)).toBe(true);
    expect(fake.data.removed).toEqual([expect.stringContaining('Connection test')]);
  }
  expect(await second.alarmIn(first.bindings)).toBe(false);
});

test.each([
  ['connectwise', fakeConnectWise, connectWise, { billableOption: 'DoNotBill' }],
  ['halo', fakeHalo, halo, { chargerate: 0, actisbillable: false }],
] as const)(
  'with BILLABLE = "psa", %s decides about billable time, and the rest is not billable',
  async (_, makeFake, { psa: make }, notBillable) => {
    const fake = makeFake(Date.now);
    const psa = make({ ...fake.env, BILLABLE: 'psa', HALO_CHARGE_BILLABLE: undefined }, { TIME_ZONE: 'UTC' });
    const bodies: unknown[] = [];
    const fetch = async (request: Request) => {
      if (!request.url.includes('/auth/') && request.method === 'POST') {
        const body: unknown = await request.clone().json();
        bodies.push(Array.isArray(body) ? body[0] : body);
      }
      return fake.fetch(request);
    };
    const send = sender(psa, { now: Date.now, sleep: async () => undefined, fetch });
    const [id, createdAt] = [crypto.randomUUID(), new Date().toISOString()];
    const record = { id, ticketId: '501', createdAt, text: 'Called', mark: `[twb:${id}]`, kind: 'time_entry' } as const;
    const entry = { ...record, userId: '2', minutes: 15, workDate: createdAt, awaitsDecision: true } as const;
    for (const billable of [true, false]) await psa.create(send, { ...entry, billable });
    for (const field of Object.keys(notBillable)) expect(bodies.at(-2)).not.toHaveProperty(field);
    expect(bodies.at(-1)).toMatchObject(notBillable);
  },
);

describe('the directory', () => {
  test('an empty list, as of an account without rights, deactivates nothing until a person confirms it', async () => {
    const world = makeAdapterWorld(fakeHalo);
    for (let id = 600; id < 640; id++) world.data.addTicket(id);
    await world.pass(MINUTE_MS);
    await world.makeKey();
    world.data.tickets = world.data.tickets.slice(0, 3);
    await world.skip(DAY_MS);
    expect(await statusOf(world, 630)).toBe('written');
    expect((await connectionRow(world))?.['failure']).toMatch(
      /^The PSA no longer lists 47 of 50 records of type ticket/,
    );
    resume(world, 'they are gone');
    await world.pass(MINUTE_MS);
    expect(await statusOf(world, 630)).toBe('ticket_not_found');
  });

  test('if the adapter is killed, a request for a new ticket gets 404 with Retry-After, and 201 after it', async () => {
    const world = await makeReadyWorld(fakeHalo);
    let slept = 0;
    world.onRequest = () => 'killed';
    world.onApiSleep = async (ms) => {
      // It is restarted after the request.
      if (slept === 0) await world.pass(ms);
      else world.suspend(ms);
      slept += ms;
    };
    world.data.addTicket(600);
    const write = () => world.write(600, { message: 'New' }, 'new-1');
    expect(await write()).toMatchObject({ status: 404, code: 'ticket_not_found', retryAfter: '10' });
    expect(slept).toBe(8_000);
    world.onRequest = () => undefined;
    await world.pass(10_000);
    expect(await write()).toMatchObject({ status: 201 });
  });

  test('while the list of all tickets is read, records arrive, and a reopened ticket is known soon and still at its end', async () => {
    const world = await makeReadyWorld(fakeHalo);
    const closed: FakeTicket = { id: 9_000, company: 12, closedAt: 0, updatedAt: 0 };
    world.data.tickets.push(closed);
    for (let id = 1_001; id <= 5_000; id++) world.data.addTicket(id, { updatedAt: 0 });
    world.data.dropTicket(505);
    world.suspend(DAY_MS);
    const isListed = async (id: number) =>
      (await rowsOf('tickets', world.organization)).some((row) => row['id'] === `${id}` && row['active'] === 1);
    await world.pass(10_000);
    world.onApiSleep = world.pass;
    await world.write(501, { message: 'Meanwhile' });
    // It belongs on a page that was read.
    Object.assign(closed, { closedAt: null, updatedAt: world.data.now() });
    expect(await world.write(9_000, { message: 'Reopened' })).toMatchObject({ status: 201 });
    await world.pass(20_000);
    expect(notesOf(world).map(([, text]) => text)).toEqual(['Meanwhile', 'Reopened']);
    // The pages are read from the last to the first.
    expect([await isListed(5_000), await isListed(1_001), await isListed(505)]).toEqual([true, false, true]);
    // As in a longer list: the ticket is no longer among those that changed recently.
    world.suspend(6 * MINUTE_MS);
    await world.pass(3 * MINUTE_MS);
    expect([await isListed(1_001), await isListed(9_000), await isListed(505)]).toEqual([true, true, false]);
  });

  test('an organization that was erased stays erased, and the adapter keeps none of its texts', async () => {
    const world = await makeReadyWorld(fakeHalo);
    world.data.dropTicket(503);
    await world.write(503, { message: 'Refused' });
    await world.pass(MINUTE_MS);
    await eraseOrganization(asOperator(), {
      organization: world.organization,
      cursor: await lastCursor(world.organization),
      by: 'Ada',
    });
    await world.skip(HOUR_MS);
    expect(await rowsOf('users', world.organization)).toEqual([]);
    expect(await world.read((kv) => Array.from(kv.list(), ([key]) => key))).toEqual([
      'id',
      'isErased',
      'lookBefore',
      'order',
    ]);
    const before = { ...world.data.calls };
    await world.skip(DAY_MS);
    expect(world.data.calls).toEqual(before);
  });
});

describe('privacy', () => {
  test('the first note that customers can see is removed at once, and no other follows until a person resumes the adapter', async () => {
    const world = await makeReadyWorld(fakeHalo);
    world.data.showsNotes = true;
    for (const ticket of [502, 503, 504]) await world.write(ticket, { message: `Secret ${ticket}` });
    await world.pass(5 * MINUTE_MS);
    expect([world.data.notes, world.data.removed.length]).toEqual([[], 2]);
    world.data.showsNotes = false;
    await world.skip(HOUR_MS);
    expect(world.data.notes).toEqual([]);
    resume(world, 'yes');
    await world.pass(5 * MINUTE_MS);
    expect(notesOf(world)).toEqual([502, 503, 504].map((ticket) => [ticket, `Secret ${ticket}`, true]));
  });

  test('a public note is removed although the adapter is killed right after its creation, and its removal fails first', async () => {
    const world = await makeReadyWorld(fakeHalo);
    world.data.showsNotes = true;
    let writes = 0;
    world.onRequest = (request) => (isWrite(request) ? (['killed', 'refused', 'lost'] as const)[writes++] : undefined);
    await world.write(502, { message: 'Secret' });
    await world.pass(10 * MINUTE_MS);
    expect([world.data.notes, world.data.removed.length, writes]).toEqual([[], 2, 4]);
  });

  test('time that is handed to the settings area before it is read back stops nothing', async () => {
    const world = await makeReadyWorld(fakeHalo);
    await proveTime(world);
    world.onRequest = (request) => (isWrite(request) || world.data.entries.length === 0 ? undefined : 'refused');
    await world.write(501, time('Called'));
    await world.pass(MINUTE_MS);
    expect(await world.read((kv) => kv.get('unread'))).toBeTypeOf('string');
    const { reviews: _, ...psa } = world.fake.psa;
    world.deploy(psa);
    world.onRequest = (request) => (!isWrite(request) && request.url.includes('501') ? 'refused' : undefined);
    await world.skip(20 * MINUTE_MS);
    await handTimeToSettings(asOperator(), { organization: world.organization, by: 'Olga', adapterStays: true });
    await world.skip(10 * MINUTE_MS);
    await world.write(502, { message: 'Next' });
    world.onRequest = () => undefined;
    await world.skip(20 * MINUTE_MS);
    expect([timesOf(world), notesOf(world)]).toEqual([['Called'], [[502, 'Next', true]]]);
  });

  test.each([
    ['a note', { message: 'First' }],
    ['time', time('First')],
  ])(
    '%s that the feed no longer contains, as after a restore, is read back, and then the others follow',
    async (_, body) => {
      const world = await makeReadyWorld(fakeHalo);
      await proveTime(world);
      world.onRequest = (request) =>
        !isWrite(request) && world.data.notes.length + world.data.entries.length > 0 ? 'refused' : undefined;
      const { id } = await world.write(502, body);
      await world.pass(MINUTE_MS);
      const end = await lastCursor(world.organization);
      await world.read((kv) => {
        const pending = pendingOf(kv, id);
        // Nothing follows its place.
        if (pending) save(kv, { ...pending, after: end });
      });
      world.onRequest = () => undefined;
      await world.write(503, { message: 'Next' });
      await world.skip(20 * MINUTE_MS);
      expect([...notesOf(world).map(([, text]) => text), ...timesOf(world)].sort()).toEqual(['First', 'Next']);
      expect(await connectionRow(world)).toMatchObject({ failure: null });
    },
  );

  test('while a note cannot be read back, nothing else is written', async () => {
    const world = await makeReadyWorld(fakeHalo);
    await world.write(502, { message: 'First' });
    world.onRequest = (request) => (!isWrite(request) && world.data.notes.length > 0 ? 'refused' : undefined);
    await world.pass(MINUTE_MS);
    for (const ticket of [503, 504]) await world.write(ticket, { message: 'Next' });
    await world.skip(3 * HOUR_MS);
    expect(world.data.notes).toHaveLength(1);
    // The connection test succeeds after this, on another ticket.
    world.onRequest = (request) => (!isWrite(request) && request.url.includes('502') ? 'refused' : undefined);
    resume(world, 'repaired');
    await world.skip(HOUR_MS);
    expect(world.data.notes).toHaveLength(1);
    world.onRequest = () => undefined;
    await world.skip(HOUR_MS);
    expect(notesOf(world).sort()).toEqual([
      [502, 'First', true],
      [503, 'Next', true],
      [504, 'Next', true],
    ]);
    expect(await reportsOf(world)).toEqual([]);
  });
});

describe('what others wrote', () => {
  /** A world in which a person has changed time and shows it to customers, and the adapter has lost its storage. */
  async function makePublished(changes: Partial<FakeEntry>) {
    let publish = (): void => undefined;
    const world = await makeReadyWorld((clock) => {
      const fake = fakeHalo(clock);
      publish = fake.publishTime;
      return fake;
    });
    await proveTime(world);
    await world.write(501, time('Called'));
    await world.pass(MINUTE_MS);
    publish();
    for (const entry of world.data.entries) Object.assign(entry, changes);
    // Without its storage, the adapter looks for the mark.
    world.objectName = 'two';
    await world.pass(MINUTE_MS);
    resume(world, 'take over');
    await world.pass(10 * MINUTE_MS);
    return world;
  }

  test('public time with the mark of an entry stops the adapter, is reported, and is not removed', async () => {
    const world = await makePublished({});
    expect(await connectionRow(world)).toMatchObject({
      failure: expect.stringMatching(/^Customers could see time entry \S+ on ticket 501\. Hide or remove it there/),
      stopped_at: expect.any(Number),
    });
    expect([timesOf(world), world.data.removedTime.filter((text) => text.includes('Called'))]).toEqual([
      ['Called'],
      [],
    ]);
  });

  test('time that a person has corrected and that customers can see is not written again', async () => {
    const world = await makePublished({ minutes: 30 });
    expect(timesOf(world)).toEqual(['Called']);
    expect(await reportsOf(world)).toEqual([expect.stringContaining('its minutes is 30, not 15')]);
    for (const entry of world.data.entries) entry.minutes = 15;
    resume(world, 'corrected');
    await world.pass(10 * MINUTE_MS);
    // No create of this adapter preceded it.
    expect([timesOf(world), world.data.removedTime.filter((text) => text.includes('Called'))]).toEqual([
      ['Called'],
      [],
    ]);
  });

  test('the mark of a connection test is another one in each test', async () => {
    const world = await makeReadyWorld(fakeHalo);
    resume(world, 'again');
    await world.pass(MINUTE_MS);
    expect(new Set(world.data.removed).size).toBe(2);
  });

  test('a mark of a connection test that customers saw is not used again', async () => {
    const world = makeAdapterWorld(fakeHalo);
    world.data.showsNotes = true;
    await world.pass(MINUTE_MS);
    world.data.showsNotes = false;
    resume(world, 'repaired');
    await world.pass(MINUTE_MS);
    expect(new Set(world.data.removed).size).toBe(2);
  });
});

describe('refusals', () => {
  const refuse =
    (status: number, matches: (request: Request) => boolean = isWrite) =>
    (request: Request) =>
      matches(request) ? new Response('{"message":"Text of the PSA"}', { status }) : undefined;

  test('five refusals in a row pause the adapter, one record is tried every 15 minutes, and a success writes all of them', async () => {
    const world = await makeReadyWorld(fakeHalo);
    let writes = 0;
    world.onRequest = (request) => {
      const response = refuse(400)(request);
      if (response) writes += 1;
      return response;
    };
    for (let ticket = 501; ticket <= 509; ticket++) await world.write(ticket, { message: `Note ${ticket}` });
    await world.pass(MINUTE_MS);
    expect([writes, (await reportsOf(world)).length]).toEqual([5, 5]);
    expect(await connectionRow(world)).toMatchObject({
      failure: expect.stringMatching(/^The PSA refuses every record/),
      stopped_at: expect.any(Number),
    });
    for (let trial = 1; trial <= 4; trial++) {
      await world.pass(MINUTE_MS);
      await world.skip(14 * MINUTE_MS);
      expect(writes).toBeLessThanOrEqual(5 + trial);
    }
    expect(writes).toBeGreaterThan(5);
    expect(await reportsOf(world)).toHaveLength(5);
    world.onRequest = () => undefined;
    await world.skip(15 * MINUTE_MS);
    await world.pass(MINUTE_MS);
    expect(
      notesOf(world)
        .map(([ticket]) => ticket)
        .sort(),
    ).toEqual([501, 502, 503, 504, 505, 506, 507, 508, 509]);
    expect((await reportsOf(world)).slice(5)).toEqual(Array(5).fill('note.taken'));
    expect(await connectionRow(world)).toMatchObject({ failure: null, stopped_at: null });
  });

  test('time that was refused, handed to the settings area and approved there is reported as taken', async () => {
    const world = await makeReadyWorld(fakeHalo);
    await proveTime(world);
    world.onRequest = refuse(400);
    const { id } = await world.write(501, time('Called'));
    await world.pass(MINUTE_MS);
    const { reviews: _, ...psa } = world.fake.psa;
    world.deploy(psa);
    await world.skip(20 * MINUTE_MS);
    await handTimeToSettings(asOperator(), { organization: world.organization, by: 'Olga', adapterStays: true });
    await world.pass(MINUTE_MS);
    world.onRequest = () => undefined;
    expect((await decide(world, 'APPROVED', [id])).done).toEqual([id]);
    await world.pass(MINUTE_MS);
    expect(timesOf(world)).toEqual(['Called']);
    expect(await reportsOf(world)).toEqual([
      expect.stringContaining('time_entry.refused'),
      expect.stringContaining('time_entry.taken'),
    ]);
  });

  test('a resumed adapter writes what was refused, without reading the feed again, and reports that it is taken', async () => {
    const world = await makeReadyWorld(fakeHalo);
    world.onRequest = refuse(422);
    await world.write(502, { message: 'Refused' });
    await world.pass(MINUTE_MS);
    expect(await reportsOf(world)).toMatchObject([expect.stringMatching(/^note\.refused \w+ \S+ got 422$/)]);
    world.onRequest = () => undefined;
    await world.skip(DAY_MS);
    expect(world.data.notes).toEqual([]);
    resume(world, 'again');
    await world.pass(MINUTE_MS);
    expect(notesOf(world)).toEqual([[502, 'Refused', true]]);
    expect((await reportsOf(world))[1]).toBe('note.taken');
  });

  test.each([401, 403, 302])('a %s pauses the connection and gives nothing up', async (status) => {
    const world = await makeReadyWorld(fakeHalo);
    world.onRequest = refuse(status, () => true);
    for (const ticket of [502, 503]) await world.write(ticket, { message: 'Waits' });
    await world.pass(2 * MINUTE_MS);
    await world.skip(HOUR_MS);
    expect(await connectionRow(world)).toMatchObject({
      failure: expect.stringContaining(`got ${status}`),
      stopped_at: null,
    });
    expect(await reportsOf(world)).toEqual([]);
    world.onRequest = () => undefined;
    await world.skip(15 * MINUTE_MS);
    expect(world.data.notes).toHaveLength(2);
  });

  test('a record that alone fails for an hour is set aside, holds up only its own ticket, and has a way back', async () => {
    const world = await makeReadyWorld(fakeHalo);
    world.onRequest = async (request) => {
      // The ticket is in the address or in the body.
      const sent = `${request.url} ${await request.clone().text()}`;
      return /\b503\b/.test(sent) ? refuse(403)(request) : undefined;
    };
    await world.write(503, { message: 'No right here' });
    for (const minute of [0, 30, 60, 90]) {
      await world.write(504, { message: `Others ${minute}` });
      await world.pass(MINUTE_MS);
      await world.skip(30 * MINUTE_MS);
    }
    expect(world.data.notes).toHaveLength(4);
    expect(await reportsOf(world)).toEqual([
      expect.stringMatching(/^note\.refused It failed for an hour: \w+ \S+ got 403$/),
    ]);
    world.onRequest = () => undefined;
    resume(world, 'repaired');
    await world.pass(5 * MINUTE_MS);
    expect(notesOf(world)).toContainEqual([503, 'No right here', true]);
    expect((await reportsOf(world)).at(-1)).toBe('note.taken');
  });

  test('a 429 waits as long as the PSA asks for, in seconds or as a date', async () => {
    const world = await makeReadyWorld(fakeHalo);
    const requests: number[] = [];
    let retryAfter = '600';
    await world.write(502, { message: 'Patient' });
    world.onRequest = (request) => {
      if (!isWrite(request)) return undefined;
      requests.push(world.clock());
      const isFirst = requests.length % 2 === 1;
      return isFirst ? new Response(null, { status: 429, headers: { 'Retry-After': retryAfter } }) : undefined;
    };
    await world.pass(11 * MINUTE_MS);
    retryAfter = new Date(world.clock() + 20 * MINUTE_MS).toUTCString();
    await world.write(503, { message: 'Patient' });
    await world.pass(25 * MINUTE_MS);
    const [a = 0, b = 0, c = 0, d = 0] = requests;
    expect([b - a >= 600_000, d - c >= 19 * MINUTE_MS, world.data.notes.length]).toEqual([true, true, 2]);
  });
});

describe('the test of time', () => {
  test('that was refused is no failure once its entry is handed to the settings area', async () => {
    const world = await makeReadyWorld(fakeHalo);
    world.onRequest = refuseAda;
    await world.write(502, time('Ada', 15, ADA));
    await world.pass(MINUTE_MS);
    expect((await connectionRow(world))?.['failure']).toContain('for technician 1');
    const { reviews: _, ...psa } = world.fake.psa;
    world.deploy(psa);
    await world.skip(20 * MINUTE_MS);
    await handTimeToSettings(asOperator(), { organization: world.organization, by: 'Olga', adapterStays: true });
    await world.pass(2 * MINUTE_MS);
    expect([await world.waiting(), (await connectionRow(world))?.['failure']]).toEqual([0, null]);
  });

  test('begins again with the technician of another entry when a person resumes the adapter', async () => {
    const world = await makeReadyWorld(fakeHalo);
    // The test of Ada has asked, and her entry is gone.
    await world.read((kv) => kv.put('timeToTest/technician', { id: 'gone', userId: '1' }));
    world.onRequest = refuseAda;
    resume(world, 'go on');
    await world.write(502, time('Tess'));
    await world.pass(MINUTE_MS);
    expect(timesOf(world)).toEqual(['Tess']);
  });
});

test('decisions are read from the PSA only while an entry waits for one', async () => {
  const world = await makeReadyWorld(fakeHalo);
  let reads = 0;
  world.onRequest = ({ url }) => {
    if (url.includes('timeentriesonly')) reads += 1;
    return undefined;
  };
  await world.skip(HOUR_MS);
  expect(reads).toBe(0);
  await world.write(501, time('Called'), 'one');
  await world.pass(MINUTE_MS);
  await world.skip(HOUR_MS);
  expect(reads).toBeGreaterThan(0);
  approve(world, '2');
  await world.skip(HOUR_MS);
  expect((await world.write(501, time('Called'), 'one')).entryStatus).toBe('APPROVED');
  reads = 0;
  await world.skip(DAY_MS);
  expect(reads).toBe(0);
});

test('an adapter without its storage asks for no decision about an entry that is decided', async () => {
  const world = await makeReadyWorld(fakeHalo);
  await world.write(501, time('Called'), 'one');
  await world.pass(MINUTE_MS);
  approve(world, '2');
  await world.skip(10 * MINUTE_MS);
  expect((await world.write(501, time('Called'), 'one')).entryStatus).toBe('APPROVED');
  // So old that the PSA no longer lists its decision.
  for (const entry of world.data.entries) delete entry.decision;
  world.objectName = 'two';
  await world.pass(MINUTE_MS);
  resume(world, 'take over');
  await world.pass(10 * MINUTE_MS);
  expect(await world.waiting()).toBe(0);
  expect(await world.read((kv) => Array.from(kv.list({ prefix: 'written/' })))).toHaveLength(1);
  expect(await world.read((kv) => Array.from(kv.list({ prefix: 'entry/' })))).toEqual([]);
});

test('the second stops, and when it is resumed, the first stops and nothing is written twice', async () => {
  const world = await makeReadyWorld(fakeHalo);
  await world.write(501, { message: 'One' });
  await world.pass(MINUTE_MS);
  world.objectName = 'two';
  await world.write(502, { message: 'Two' });
  await world.pass(10 * MINUTE_MS);
  expect(world.data.notes).toHaveLength(1);
  resume(world, 'take over');
  await world.pass(10 * MINUTE_MS);
  expect(notesOf(world).map(([ticket]) => ticket)).toEqual([501, 502]);
  world.objectName = 'one';
  resume(world, '');
  await world.write(503, { message: 'Three' });
  await world.pass(10 * MINUTE_MS);
  expect(world.data.notes).toHaveLength(2);
});
