import { expect, test } from 'vitest';
import { allChanges } from '../support/psa-calls.ts';
import { fakeHalo } from './fake-halo.ts';
import {
  approve,
  connectionRow,
  isWrite,
  MINUTE_MS,
  makeAdapterWorld,
  makeReadyWorld,
  notesOf,
  reportsOf,
  resume,
  SERVICE_FAULTS,
  time,
  timesOf,
} from './world.ts';

// An adapter whose service fails.

test.each(SERVICE_FAULTS)(
  'if calls of the service are %s, the directory, records, refusals and decisions arrive once',
  { timeout: 120_000 },
  async (fault) => {
    const world = makeAdapterWorld(fakeHalo);
    // They are in both lists of tickets, so that a failure of one list hides none.
    for (const ticket of world.data.tickets) ticket.updatedAt = world.clock();
    let [calls, reportedAt] = [0, 0];
    const late: number[] = [];
    const fail = (one: typeof fault | undefined) => {
      world.onCall = (name) => {
        if (name === 'reportConnection') reportedAt = world.clock();
        return calls++ % 5 === 1 ? one : undefined;
      };
    };
    world.onRequest = (request) => {
      // An adapter that took over after the last report may write by then.
      if (isWrite(request) && world.clock() - reportedAt > 2 * MINUTE_MS) late.push(world.clock() - reportedAt);
      return undefined;
    };
    fail(fault);
    await world.pass(20 * MINUTE_MS);
    fail(undefined);
    await world.pass(5 * MINUTE_MS);
    await world.makeKey();
    world.data.dropTicket(503);
    fail(fault);
    await world.write(501, { message: 'Note' });
    await world.write(502, time('Time'), 'one');
    await world.write(503, { message: 'Refused' });
    await world.pass(25 * MINUTE_MS);
    approve(world, '1');
    await world.pass(25 * MINUTE_MS);
    fail(undefined);
    await world.skip(20 * MINUTE_MS);
    expect([notesOf(world), timesOf(world)]).toEqual([[[501, 'Note', true]], ['Time']]);
    expect(await reportsOf(world)).toEqual([expect.stringMatching(/^note\.refused POST \S+ got 404/)]);
    const decided = (await allChanges(world.organization)).filter(({ action }) => action === 'time_entry.approved');
    expect(decided).toHaveLength(1);
    expect(await connectionRow(world)).toMatchObject({ failure: null });
    expect(late).toEqual([]);
  },
);

test('a refusal is withdrawn although the adapter did not learn that its report arrived', async () => {
  const world = await makeReadyWorld(fakeHalo);
  world.onCall = (name) => (name === 'report' ? 'cut' : undefined);
  world.onRequest = (request) => (isWrite(request) ? new Response(null, { status: 422 }) : undefined);
  await world.write(501, { message: 'Note' });
  await world.pass(MINUTE_MS / 2);
  world.onCall = () => undefined;
  world.onRequest = () => undefined;
  await world.pass(10 * MINUTE_MS);
  expect(notesOf(world)).toEqual([[501, 'Note', true]]);
  expect(await reportsOf(world)).toEqual([expect.stringMatching(/^note\.refused /), 'note.taken']);
});

test('an adapter writes nothing while the results of its reports take longer than a replacement of it waits', async () => {
  const world = await makeReadyWorld(fakeHalo);
  world.onCall = (name) => (name === 'reportConnection' ? 'slow' : undefined);
  await world.pass(5 * MINUTE_MS);
  await world.write(501, { message: 'By the second' });
  await world.pass(10 * MINUTE_MS);
  expect(world.data.notes).toEqual([]);
  world.onCall = () => undefined;
  world.objectName = 'two';
  await world.pass(MINUTE_MS);
  resume(world, 'take over');
  await world.pass(10 * MINUTE_MS);
  expect(notesOf(world)).toEqual([[501, 'By the second', true]]);
});
