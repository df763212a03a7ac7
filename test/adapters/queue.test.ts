import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { handTimeToSettings } from '../../src/services/work/hand-to-settings.ts';
import { resultOf, work } from '../support/psa-calls.ts';
import { asOperator, rowsOf } from '../support/world.ts';
import type { MakeFake } from './fake.ts';
import { fakeConnectWise } from './fake-connectwise.ts';
import { fakeHalo } from './fake-halo.ts';
import { fakeRedmine } from './fake-redmine.ts';
import {
  type AdapterWorld,
  connectionRow,
  DAY_MS,
  decide,
  enter,
  HOUR_MS,
  isWrite,
  MINUTE_MS,
  makeReadyWorld,
  notesOf,
  proveTime,
  reportsOf,
  resume,
  time,
  timesOf,
} from './world.ts';

// Which record comes next, and for which ones a record that fails has to wait: never for those of other keys, tickets and
// kinds.

/** More than a page of the feed contains. */
const RECORDS = 105;

/** Why the records are listed that the PSA did not take. */
const refusalsOf = async ({ organization }: AdapterWorld) =>
  (await rowsOf('psa_refusals', organization)).map(({ reason }) => reason);

const textsOf = (world: AdapterWorld) => notesOf(world).map(([, text]) => text);

/** Refuses writes whose text contains BAD. */
const refuseBad = (status: number) => async (request: Request) =>
  isWrite(request) && (await request.clone().text()).includes('BAD') ? new Response('<html>', { status }) : undefined;

/** A world in which a key has many records that the PSA does not take. */
async function makeStalledWorld(makeFake: MakeFake, status: number, tickets: number[]) {
  const world = await makeReadyWorld(makeFake);
  // Then no mark is looked up.
  await world.skip(10 * MINUTE_MS);
  world.onRequest = refuseBad(status);
  const ids: string[] = [];
  for (let index = 0; index < RECORDS; index++) {
    const { id } = await world.write(tickets[index % tickets.length] ?? 0, { message: `BAD ${index}` });
    ids.push(id);
  }
  await world.pass(2 * MINUTE_MS);
  return { world, ids };
}

describe('records that the PSA does not take', () => {
  test('notes that a firewall blocks hold up no other ticket, and on their own ticket no other key', async () => {
    const { world, ids } = await makeStalledWorld(fakeHalo, 403, [501]);
    await world.write(507, { message: 'Other ticket' });
    await world.pass(MINUTE_MS);
    await world.makeKey('Make');
    await world.write(501, { message: 'Other key' });
    await world.pass(MINUTE_MS);
    expect(textsOf(world)).toEqual(['Other ticket', 'Other key']);
    // No text is stored here.
    expect(await world.read((kv) => JSON.stringify(Array.from(kv.list())))).not.toContain('BAD');
    expect(await world.waiting()).toBe(RECORDS);
    for (const id of ids) resultOf(await work.redactRecord(world.organization, 'note', id, 'Ada'));
    await world.skip(10 * MINUTE_MS);
    await world.pass(10 * MINUTE_MS);
    expect(await world.waiting()).toBe(0);
    expect(textsOf(world).slice(2)).toEqual(ids.map(() => '[redacted]'));
  });

  test('a key whose notes on many tickets are refused holds up no other key, and its other tickets for 15 minutes', async () => {
    const { world } = await makeStalledWorld(fakeConnectWise, 400, [501, 502, 503, 504, 505]);
    expect(await connectionRow(world)).toMatchObject({
      failure: expect.stringMatching(/^The PSA refuses every record of a key \(internal notes\)/),
      stopped_at: expect.any(Number),
    });
    await world.write(507, { message: 'Other ticket' });
    await world.makeKey('Make');
    await world.write(501, { message: 'Other key' });
    await world.pass(MINUTE_MS);
    expect(textsOf(world)).toEqual(['Other key']);
    expect(await connectionRow(world)).toMatchObject({ failure: expect.any(String), stopped_at: null });
    await world.pass(15 * MINUTE_MS);
    expect(textsOf(world)).toEqual(['Other key', 'Other ticket']);
  });

  test('a redaction is read and applied although nothing of its key is written', async () => {
    const world = await makeReadyWorld(fakeHalo);
    const { id } = await world.write(501, { message: 'The code is 4711' });
    await world.pass(MINUTE_MS);
    world.onRequest = async (request) => {
      const sent = await request.clone().text();
      return isWrite(request) && !sent.includes('redacted') ? new Response(null, { status: 403 }) : undefined;
    };
    for (let index = 0; index < RECORDS; index++) await world.write(501 + (index % 10), { message: `Waits ${index}` });
    await world.pass(10 * MINUTE_MS);
    resultOf(await work.redactRecord(world.organization, 'note', id, 'Ada'));
    await world.pass(MINUTE_MS);
    expect(textsOf(world)).toEqual(['[redacted]']);
  });

  test('a redaction reaches the part of a long time entry that the PSA has, although the rest was refused and set aside', async () => {
    const world = await makeReadyWorld(fakeRedmine);
    await proveTime(world);
    world.onRequest = (request) =>
      isWrite(request) && request.url.includes('/issues/') ? new Response(null, { status: 400 }) : undefined;
    const { id } = await world.write(501, time(`The code is 4711. ${'Step by step. '.repeat(400)}`));
    await world.pass(MINUTE_MS);
    expect([await refusalsOf(world), timesOf(world)]).toEqual([
      [expect.stringMatching(/got 400\. The PSA has it as \d+: do not enter it again$/)],
      [expect.stringContaining('4711')],
    ]);
    resultOf(await work.redactRecord(world.organization, 'time_entry', id, 'Ada'));
    await world.pass(MINUTE_MS);
    expect([timesOf(world), notesOf(world)]).toEqual([['[redacted]'], []]);
  });

  test('a redaction reaches the note with the whole text of time that the PSA does not change, and after a resume both without a test of time', async () => {
    const world = await makeReadyWorld(fakeRedmine);
    await proveTime(world);
    const { id } = await world.write(501, time(`The code is 4711. ${'Step by step. '.repeat(400)}`));
    await world.pass(MINUTE_MS);
    expect([timesOf(world), notesOf(world)].flat()).toHaveLength(2);
    const refuseTime = (request: Request) =>
      isWrite(request) && request.url.includes('/time_entries') ? new Response(null, { status: 422 }) : undefined;
    world.onRequest = refuseTime;
    resultOf(await work.redactRecord(world.organization, 'time_entry', id, 'Ada'));
    await world.pass(MINUTE_MS);
    expect(textsOf(world)).toEqual(['[redacted]']);
    expect(await refusalsOf(world)).toEqual([expect.stringMatching(/^PUT .* The PSA has it as \d+: /)]);
    world.onRequest = (request) => (request.method === 'PUT' ? undefined : refuseTime(request));
    resume(world, 'repaired');
    await world.pass(2 * MINUTE_MS);
    expect([timesOf(world), await refusalsOf(world)]).toEqual([['[redacted]'], []]);
  });

  test('a redaction that the PSA refuses for one part is sent again until the other part is redacted', async () => {
    const world = await makeReadyWorld(fakeRedmine);
    await proveTime(world);
    const { id } = await world.write(501, time(`The code is 4711. ${'Step by step. '.repeat(400)}`));
    await world.pass(MINUTE_MS);
    let failed = 0;
    world.onRequest = (request) => {
      if (!isWrite(request)) return undefined;
      if (request.url.includes('/time_entries')) return new Response(null, { status: 422 });
      return ++failed > 2 ? undefined : new Response(null, { status: 503 });
    };
    resultOf(await work.redactRecord(world.organization, 'time_entry', id, 'Ada'));
    await world.pass(10 * MINUTE_MS);
    expect(textsOf(world)).toEqual(['[redacted]']);
    expect(await refusalsOf(world)).toEqual([expect.stringMatching(/^PUT .*time_entries.* got 422/)]);
  });

  test.each([
    ['and the PSA has it', true],
    ['and the PSA does not have it', false],
  ])(
    'a redaction reaches a record whose last create got no answer before it was set aside, %s',
    async (_, takesPlace) => {
      const world = await makeReadyWorld(fakeHalo);
      world.onRequest = async (request) => {
        if (!isWrite(request) || !(await request.clone().text()).includes('4711')) return undefined;
        // The first attempt after another note was written is the last one.
        return takesPlace && world.data.notes.length === 1 ? 'failed' : 'refused';
      };
      const { id } = await world.write(503, { message: 'The code is 4711' });
      await world.pass(MINUTE_MS);
      await world.skip(HOUR_MS);
      await world.write(504, { message: 'Another note' });
      await world.pass(MINUTE_MS);
      await world.skip(30 * MINUTE_MS);
      expect(await reportsOf(world)).toEqual([expect.stringMatching(/^note\.refused It failed for an hour: /)]);
      expect(textsOf(world).includes('The code is 4711')).toBe(takesPlace);
      resultOf(await work.redactRecord(world.organization, 'note', id, 'Ada'));
      await world.pass(2 * MINUTE_MS);
      expect(notesOf(world).filter(([ticket]) => ticket === 503)).toEqual([[503, '[redacted]', true]]);
      expect((await reportsOf(world)).at(-1)).toBe('note.taken');
    },
  );

  test('in an outage nothing is set aside, and after it the records of a ticket arrive in their order', async () => {
    const world = await makeReadyWorld(fakeHalo);
    world.onRequest = refuseBad(503);
    await world.write(501, { message: 'BAD 0' });
    await world.pass(MINUTE_MS);
    await world.write(502, { message: 'Before the outage' });
    await world.pass(MINUTE_MS);
    world.onRequest = () => 'refused';
    for (const index of [1, 2, 3]) await world.write(501, { message: `BAD ${index}` });
    for (let hour = 0; hour < 3; hour++) await world.skip(HOUR_MS);
    expect(await reportsOf(world)).toEqual([]);
    world.onRequest = () => undefined;
    await world.skip(10 * MINUTE_MS);
    expect(textsOf(world)).toEqual(['Before the outage', 'BAD 0', 'BAD 1', 'BAD 2', 'BAD 3']);
  });

  test('a page for all paths with 404, as during maintenance, refuses nothing and says of no record that it is missing', async () => {
    const world = await makeReadyWorld(fakeConnectWise);
    let writes = 0;
    world.onRequest = (request) => {
      if (isWrite(request) && writes++ === 0) return 'failed';
      return writes === 0 ? undefined : new Response('<html>', { status: 404 });
    };
    for (const ticket of [501, 502, 503]) await world.write(ticket, { message: `Note ${ticket}` });
    await world.pass(10 * MINUTE_MS);
    await world.skip(HOUR_MS);
    expect([await reportsOf(world), world.data.notes.length]).toEqual([[], 1]);
    world.onRequest = () => undefined;
    await world.skip(15 * MINUTE_MS);
    expect(textsOf(world).sort()).toEqual(['Note 501', 'Note 502', 'Note 503']);
    expect(await reportsOf(world)).toEqual([]);
  });

  test('a failure disappears when the record that failed is refused and none of its kind waits', async () => {
    const world = await makeReadyWorld(fakeHalo);
    let status = 503;
    world.onRequest = (request) => (isWrite(request) ? new Response(null, { status }) : undefined);
    await world.write(501, { message: 'Note' });
    await world.pass(2 * MINUTE_MS);
    expect(await connectionRow(world)).toMatchObject({ failure: expect.stringContaining('got 503') });
    status = 404;
    await world.skip(10 * MINUTE_MS);
    expect(await reportsOf(world)).toEqual([expect.stringMatching(/^note\.refused /)]);
    expect(await connectionRow(world)).toMatchObject({ failure: null });
  });

  test('what was set aside before a pause is written after it, however long it was', async () => {
    const world = await makeReadyWorld(fakeHalo);
    let refusals = 0;
    world.onRequest = (request) => {
      if (!isWrite(request)) return undefined;
      refusals += 1;
      return new Response(null, { status: 400 });
    };
    const tickets = Array.from({ length: 9 }, (_, index) => 501 + index);
    for (const ticket of tickets) await world.write(ticket, { message: `Note ${ticket}` });
    await world.pass(MINUTE_MS);
    while (refusals <= RECORDS) {
      world.suspend(15 * MINUTE_MS);
      await world.pass(10_000);
    }
    expect(await reportsOf(world)).toHaveLength(5);
    world.onRequest = () => undefined;
    await world.skip(15 * MINUTE_MS);
    expect(
      notesOf(world)
        .map(([ticket]) => ticket)
        .sort(),
    ).toEqual(tickets);
  });

  test.each([
    ['ConnectWise', fakeConnectWise],
    ['Redmine', fakeRedmine],
  ])('after a resume, time that a person has entered in %s by hand is not written', async (_, makeFake) => {
    const world = await makeReadyWorld(makeFake);
    await proveTime(world);
    world.onRequest = refuseBad(400);
    const ids = [];
    for (const ticket of [501, 502]) ids.push((await world.write(ticket, time(`BAD ${ticket}`))).id);
    await world.pass(MINUTE_MS);
    expect(await reportsOf(world)).toHaveLength(2);
    expect(await enter(world, ids[0] ?? '')).toBe(true);
    await world.pass(MINUTE_MS);
    world.onRequest = () => undefined;
    resume(world, 'repaired');
    await world.pass(5 * MINUTE_MS);
    expect(timesOf(world)).toEqual(['BAD 502']);
    expect((await reportsOf(world)).slice(2)).toEqual(['time_entry.taken Entered by hand', 'time_entry.taken']);
  });

  /** A world in which the PSA has refused time, and then takes everything. */
  async function makeRefusedTime() {
    const world = await makeReadyWorld(fakeHalo);
    await proveTime(world);
    world.onRequest = refuseBad(400);
    const { id } = await world.write(501, time('BAD'));
    await world.pass(MINUTE_MS);
    expect(await reportsOf(world)).toHaveLength(1);
    world.onRequest = () => undefined;
    return { world, id };
  }

  test('time that a person has entered by hand is not written when the settings area approves it later', async () => {
    const { world, id } = await makeRefusedTime();
    expect(await enter(world, id)).toBe(true);
    const { reviews: _, ...psa } = world.fake.psa;
    world.deploy(psa);
    await world.skip(20 * MINUTE_MS);
    await handTimeToSettings(asOperator(), { organization: world.organization, by: 'Olga', adapterStays: true });
    expect((await decide(world, 'APPROVED', [id])).done).toEqual([id]);
    await world.pass(5 * MINUTE_MS);
    expect([timesOf(world), await world.waiting()]).toEqual([[], 0]);
  });

  test('time that a person enters by hand while the PSA refuses it again is not written later', async () => {
    const { world, id } = await makeRefusedTime();
    world.onRequest = async (request) => {
      // The reason is another one.
      const response = await refuseBad(409)(request);
      if (response) expect(await enter(world, id)).toBe(true);
      return response;
    };
    resume(world, 'again');
    await world.pass(2 * MINUTE_MS);
    world.onRequest = () => undefined;
    resume(world, 'repaired');
    await world.pass(2 * MINUTE_MS);
    const refused = expect.stringContaining('time_entry.refused');
    expect(await reportsOf(world)).toEqual([refused, 'time_entry.taken Entered by hand']);
    expect([timesOf(world), await refusalsOf(world)]).toEqual([[], []]);
  });

  test('an adapter that reads the feed from its beginning writes no time that a person has entered by hand', async () => {
    const { world, id } = await makeRefusedTime();
    for (let index = 0; index < RECORDS; index++) await world.write(502, { message: `Note ${index}` });
    expect(await enter(world, id)).toBe(true);
    await world.pass(10 * MINUTE_MS);
    expect(await world.waiting()).toBe(0);
    // As after the loss of the storage, with time that was tested.
    await world.read((kv) => ['cursor', `entered/${id}`].map((key) => kv.delete(key)));
    // One page is all that the adapter can read in a turn.
    world.onCall = (name) => {
      if (name === 'changes') world.suspend(3_000);
      return undefined;
    };
    await world.pass(5 * MINUTE_MS);
    expect([timesOf(world), await world.waiting()]).toEqual([[], 0]);
  });

  test('a redaction that the PSA refuses after time was entered by hand is listed', async () => {
    const { world, id } = await makeRefusedTime();
    await enter(world, id);
    resultOf(await work.redactRecord(world.organization, 'time_entry', id, 'Ada'));
    resultOf(await work.report(world.organization, 'time_entry', id, 'refused', 'Locked'));
    expect(await refusalsOf(world)).toEqual(['Locked']);
  });

  test('a redaction whose text an administrator has removed by hand is not sent again', async () => {
    const world = await makeReadyWorld(fakeRedmine);
    await proveTime(world);
    const { id } = await world.write(501, time('The code is 4711.'));
    await world.pass(MINUTE_MS);
    let sent = 0;
    world.onRequest = (request) => {
      if (request.method !== 'PUT' || !request.url.includes('/time_entries')) return undefined;
      sent++;
      return new Response(null, { status: 422 });
    };
    resultOf(await work.redactRecord(world.organization, 'time_entry', id, 'Ada'));
    await world.pass(MINUTE_MS);
    expect(await refusalsOf(world)).toHaveLength(1);
    expect(await enter(world, id, true)).toBe(true);
    await world.pass(MINUTE_MS);
    sent = 0;
    resume(world, 'repaired');
    await world.pass(2 * MINUTE_MS);
    expect([sent, await refusalsOf(world)]).toEqual([0, []]);
  });

  test('an adapter without its storage withdraws a refusal when it writes the record', async () => {
    const { world } = await makeRefusedTime();
    world.objectName = 'two';
    await world.pass(MINUTE_MS);
    resume(world, 'take over');
    await world.pass(10 * MINUTE_MS);
    expect([timesOf(world), await refusalsOf(world)]).toEqual([['BAD'], []]);
  });

  test('time that was refused and is approved in the settings area a month later is no longer listed as refused', async () => {
    const { world, id } = await makeRefusedTime();
    const { reviews: _, ...psa } = world.fake.psa;
    world.deploy(psa);
    await world.skip(20 * MINUTE_MS);
    await handTimeToSettings(asOperator(), { organization: world.organization, by: 'Olga', adapterStays: true });
    await world.pass(MINUTE_MS);
    for (const days of [31, 2]) await world.skip(days * DAY_MS);
    await decide(world, 'APPROVED', [id]);
    await world.pass(5 * MINUTE_MS);
    expect([timesOf(world), await refusalsOf(world)]).toEqual([['BAD'], []]);
  });

  test('a record whose refusal a restore has removed is tried again, and reported again', async () => {
    const { world } = await makeRefusedTime();
    world.onRequest = refuseBad(400);
    await env.DB.prepare('delete from psa_refusals where organization_id = ?').bind(world.organization).run();
    // A cursor of another database.
    await world.read((kv) => kv.put('cursor', `${'0'.repeat(16)}.1.${crypto.randomUUID()}`));
    await world.pass(2 * MINUTE_MS);
    expect(await refusalsOf(world)).toEqual([expect.stringMatching(/got 400$/)]);
  });

  test('time that was set aside after creates without an answer is reported as possibly in the PSA', async () => {
    const world = await makeReadyWorld(fakeHalo);
    await proveTime(world);
    world.onRequest = refuseBad(503);
    await world.write(503, time('BAD'));
    for (const minute of [0, 30, 60]) {
      await world.write(504, time(`Others ${minute}`));
      await world.pass(MINUTE_MS);
      await world.skip(30 * MINUTE_MS);
    }
    expect(await refusalsOf(world)).toEqual([
      expect.stringMatching(
        /^It failed for an hour: \w+ \S+ got 503\. The PSA may have it: look there before you enter it$/,
      ),
    ]);
  });

  test('after a resume, records that were never tried come first', async () => {
    const world = await makeReadyWorld(fakeHalo);
    world.onRequest = refuseBad(400);
    for (const ticket of [501, 502]) await world.write(ticket, { message: `BAD ${ticket}` });
    await world.pass(MINUTE_MS);
    expect(await reportsOf(world)).toHaveLength(2);
    world.onRequest = () => undefined;
    for (const ticket of [501, 502, 503]) await world.write(ticket, { message: `New ${ticket}` });
    world.suspend(MINUTE_MS);
    resume(world, 'repaired');
    await world.pass(5 * MINUTE_MS);
    expect(textsOf(world)).toEqual(['New 501', 'New 502', 'New 503', 'BAD 501', 'BAD 502']);
  });
});

test('keys take turns even if a turn of the adapter has time for one record only', async () => {
  const world = await makeReadyWorld(fakeHalo);
  // Then no mark is looked up.
  await world.skip(10 * MINUTE_MS);
  for (let index = 0; index < 10; index++) await world.write(501, { message: `Backlog ${index}` });
  await world.makeKey('Make');
  for (const index of [0, 1]) await world.write(501, { message: `Other key ${index}` });
  world.onRequest = (request) => {
    if (isWrite(request)) world.suspend(6_000);
    return undefined;
  };
  await world.pass(2 * MINUTE_MS);
  expect(textsOf(world).slice(0, 4)).toEqual(['Backlog 0', 'Other key 0', 'Backlog 1', 'Other key 1']);
  expect(textsOf(world)).toHaveLength(12);
});

describe('one kind of record that the account may not write', () => {
  test('time that is denied holds up no note of its ticket, is the failure until time is written, and is not set aside', async () => {
    const world = await makeReadyWorld(fakeConnectWise);
    await proveTime(world);
    world.onRequest = (request) =>
      isWrite(request) && request.url.includes('/time/')
        ? Response.json({ code: 'Security' }, { status: 403 })
        : undefined;
    const failure = {
      failure: expect.stringMatching(/^Time entries are not accepted from this account: POST \S+ got 403/),
      stopped_at: null,
    };
    for (let index = 0; index < 3; index++) {
      await world.write(501 + index, time(`Time ${index}`));
      await world.pass(2 * MINUTE_MS);
      await world.write(501 + index, { message: `Note ${index}` });
      await world.pass(MINUTE_MS / 2);
      expect(textsOf(world)).toHaveLength(index + 1);
      expect(await connectionRow(world)).toMatchObject(failure);
    }
    await world.skip(DAY_MS);
    await world.write(501, { message: 'The next day' });
    await world.skip(20 * MINUTE_MS);
    expect([timesOf(world), await reportsOf(world)]).toEqual([[], []]);
    expect(await connectionRow(world)).toMatchObject(failure);
    world.onRequest = () => undefined;
    await world.skip(10 * MINUTE_MS);
    expect(timesOf(world)).toEqual(['Time 0', 'Time 1', 'Time 2']);
    expect(await connectionRow(world)).toMatchObject({ failure: null });
  });
});
