import { describe, expect, test } from 'vitest';
import { sender } from '../../src/adapters/kit/send.ts';
import { rowsOf } from '../support/world.ts';
import { checksOf, testMapping } from './conformance.ts';
import { fakeHalo } from './fake-halo.ts';
import { connectionRow, DAY_MS, MINUTE_MS, makeAdapterWorld, makeReadyWorld, proveTime, time } from './world.ts';

const TIME = time('Called');

/** A world whose fake can be changed. */
async function makeHaloWorld(make: typeof makeReadyWorld = makeReadyWorld) {
  let halo = fakeHalo(Date.now);
  const world = await make((clock) => {
    halo = fakeHalo(clock);
    return halo;
  });
  return { world, halo };
}

testMapping(fakeHalo);

describe('HaloPSA', () => {
  test('a token that has expired is replaced, and the record arrives once and without a report', async () => {
    const { world, halo } = await makeHaloWorld();
    halo.forgetTokens();
    await world.write(502, { message: 'Once' });
    await world.pass(MINUTE_MS);
    expect(world.data.notes.map(({ text }) => halo.plain(text))).toEqual(['Once']);
    expect([world.data.calls['POST /auth/token'], world.data.violations]).toEqual([2, []]);
    expect((await connectionRow(world))?.['failure']).toBeNull();
  });

  test('a wrong client secret is about the connection, and refuses no record', async () => {
    const { world, halo } = await makeHaloWorld();
    halo.forgetTokens();
    world.onRequest = ({ url }) =>
      url.includes('/auth/') ? Response.json({ error: 'invalid_client' }, { status: 400 }) : undefined;
    await world.write(502, { message: 'Waits' });
    await world.pass(5 * MINUTE_MS);
    expect((await connectionRow(world))?.['failure']).toBe('POST /auth/token got 400 invalid_client');
    world.onRequest = () => undefined;
    await world.skip(15 * MINUTE_MS);
    expect(world.data.notes).toHaveLength(1);
  });

  test('the connection test finds an outcome that sends mail by its own settings, and no record is written', async () => {
    const { world, halo } = await makeHaloWorld(async (...args) => makeAdapterWorld(...args));
    halo.settings.sendsMail = true;
    await world.pass(MINUTE_MS);
    await world.makeKey();
    await world.write(502, { message: 'Secret' });
    await world.skip(30 * MINUTE_MS);
    expect([world.data.notes, world.data.removed.map(halo.plain)]).toEqual([[], ['Connection test']]);
    expect((await connectionRow(world))?.['failure']).toMatch(/^Customers could see note 501\/1 on ticket 501/);
  });

  test('time that customers can see is removed, and nothing follows', async () => {
    const { world } = await makeHaloWorld();
    await proveTime(world);
    world.data.showsNotes = true;
    for (const ticket of [502, 503]) await world.write(ticket, TIME);
    await world.pass(5 * MINUTE_MS);
    expect([world.data.entries, world.data.removedTime.length]).toEqual([[], 1]);
  });

  test('customers who can see the test of time stop the adapter before any time is written', async () => {
    const { world } = await makeHaloWorld();
    world.data.showsNotes = true;
    await world.write(502, TIME);
    await world.pass(5 * MINUTE_MS);
    expect([world.data.entries, world.data.removedTime.map(world.fake.plain)]).toEqual([[], ['Time test']]);
    expect(await connectionRow(world)).toMatchObject({
      failure: expect.stringMatching(/^Customers could see the test of time on ticket 501\. It is removed/),
      stopped_at: expect.any(Number),
    });
  });

  test('an approval is about the time of one ticket, although ids begin again in each', async () => {
    const { world } = await makeHaloWorld();
    for (const ticket of [502, 503]) await world.write(ticket, TIME, `event:${ticket}`);
    await world.pass(MINUTE_MS);
    const [first, second] = world.data.entries;
    expect(first?.id).toBe(second?.id);
    Object.assign(first ?? {}, { decision: { status: 'APPROVED', reviewer: '1' } });
    await world.skip(10 * MINUTE_MS);
    const replay = async (ticket: number) => (await world.write(ticket, TIME, `event:${ticket}`)).entryStatus;
    expect([await replay(502), await replay(503)]).toEqual(['APPROVED', 'SUBMITTED']);
  });

  test('time has the charge type for billable or not, its beginning and end, and no action starts a rule', async () => {
    const { world } = await makeHaloWorld(async (makeFake) =>
      makeReadyWorld(makeFake, {}, Date.parse('2027-03-01T12:00:00Z')),
    );
    await proveTime(world);
    const bodies: Record<string, unknown>[] = [];
    world.onRequest = async (request) => {
      if (request.method === 'POST' && request.url.endsWith('/Actions')) {
        const [body] = await request.clone().json<Record<string, unknown>[]>();
        bodies.push(body ?? {});
      }
      return undefined;
    };
    for (const billable of [true, false]) await world.write(502, { ...TIME, billable });
    await world.write(503, { message: 'A note' });
    await world.pass(MINUTE_MS);
    const span = {
      actionarrivaldate: expect.stringMatching(/^2027-03-01T11:47:/),
      actioncompletiondate: expect.stringMatching(/^2027-03-01T12:02:/),
    };
    const [billable, notBillable] = bodies.filter(({ timetaken }) => timetaken !== undefined);
    const note = bodies.find(({ timetaken }) => timetaken === undefined);
    expect(billable).toMatchObject({ ...span, chargerate: 2, actisbillable: true, dont_do_rules: true });
    expect(notBillable).toMatchObject({ ...span, chargerate: 0, actisbillable: false, dont_do_rules: true });
    expect(note).toMatchObject({ dont_do_rules: true });
    expect(note).not.toHaveProperty('chargerate');
  });

  test('every review is read, in parts and without texts, although there are more entries than one list has', async () => {
    const now = Date.parse('2027-03-01T12:00:00Z');
    const fake = fakeHalo(() => now);
    const dates = [...Array.from({ length: 2_500 }, (_, index) => now - (index * 58 * DAY_MS) / 2_500)];
    // More than a list has in the same second.
    dates.push(...Array.from({ length: 1_500 }, () => now));
    fake.data.entries = dates.map((updatedAt, index) => ({
      ...{ id: index + 1, ticket: 502, text: 'Called', minutes: 15, date: '', user: 2, billable: true, updatedAt },
      decision: { status: 'APPROVED', reviewer: '1' },
    }));
    const queries: string[] = [];
    const send = sender(fake.psa, {
      ...{ now: () => now, sleep: async () => undefined },
      fetch: (request) => {
        queries.push(new URL(request.url).search);
        return fake.fetch(request);
      },
    });
    const found = (await fake.psa.reviews?.(send, new Date(now))) ?? [];
    expect(new Set(found.map(({ psaId }) => psaId)).size).toBe(dates.length);
    expect(queries.filter((query) => query.includes('includehtmlnote'))).toEqual([]);
    expect(queries.length).toBeLessThan(40);
  });

  test('a text of many angle brackets does not slow a look-up down', async () => {
    const fake = fakeHalo(Date.now);
    fake.data.notes = [{ id: 1, ticket: 502, text: '<'.repeat(400_000), isPrivate: true, author: 9 }];
    const send = sender(fake.psa, { now: Date.now, sleep: async () => undefined, fetch: fake.fetch });
    const record = { id: '1', ticketId: '502', createdAt: '', text: '', mark: '[twb:1]', kind: 'note' } as const;
    expect(await fake.psa.find(send, record)).toEqual([]);
  });

  test('a record whose mark a person has deleted is found by its guid, if Halo keeps it', async () => {
    const { world, halo } = await makeHaloWorld();
    halo.settings.keepsGuid = true;
    world.onRequest = ({ method }) => {
      for (const note of world.data.notes) note.text = 'Edited';
      return method === 'POST' && world.data.notes.length === 0 ? 'unanswered' : undefined;
    };
    await world.write(502, { message: 'Once' });
    await world.pass(5 * MINUTE_MS);
    expect(world.data.notes.map(({ text }) => text)).toEqual(['Edited']);
    expect(await world.waiting()).toBe(0);
  });

  test('contains every ticket, although one is reopened while the list is read', async () => {
    const { world } = await makeHaloWorld(async (...args) => makeAdapterWorld(...args));
    for (let id = 601; id <= 850; id++) world.data.addTicket(id, { updatedAt: 0, closedAt: id === 610 ? 0 : null });
    let pages = 0;
    world.onRequest = ({ url }) => {
      // The last page was read.
      if (/Tickets\?open_only/.test(url) && ++pages === 3)
        for (const ticket of world.data.tickets) ticket.closedAt = null;
      return undefined;
    };
    await world.pass(MINUTE_MS);
    expect(pages).toBeGreaterThan(4);
    expect(await rowsOf('tickets', world.organization)).toHaveLength(260);
  });

  test('the checks of the doctor write nothing, and name an agent that cannot have time', async () => {
    const fake = fakeHalo(Date.now);
    const { data } = fake;
    expect(await checksOf(fake)).toHaveLength(5);
    const writes = Object.keys(data.calls).filter((call) => !call.startsWith('GET '));
    expect([writes, data.violations]).toEqual([['POST /auth/token'], []]);
    data.users.pop();
    await expect(checksOf(fake)).rejects.toThrow('There is no active agent 9 with an email address.');
  });
});
