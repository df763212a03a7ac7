import { expect, test } from 'vitest';
import { testMapping } from './conformance.ts';
import { fakeRedmine } from './fake-redmine.ts';
import { ADA, isWrite, MINUTE_MS, makeReadyWorld, notesOf, reportsOf, time, timesOf } from './world.ts';

testMapping(fakeRedmine);

test('a note is written again if another request changed its issue meanwhile, and is refused if Redmine lists an error', async () => {
  const world = await makeReadyWorld(fakeRedmine);
  const bodies = [{ errors: [] }, { errors: [] }, undefined, { errors: ['Ungültig'] }];
  world.onRequest = (request) => {
    const body = isWrite(request) ? bodies.shift() : undefined;
    return body && Response.json(body, { status: 422 });
  };
  for (const [ticket, message] of [
    [502, 'Conflict'],
    [503, 'Invalid'],
  ] as const) {
    await world.write(ticket, { message });
    await world.pass(MINUTE_MS);
  }
  expect(notesOf(world)).toEqual([[502, 'Conflict', true]]);
  expect(await reportsOf(world)).toEqual([expect.stringMatching(/^note\.refused PUT \S+ got 422$/)]);
});

test('a technician who is no member of the project of the test ticket gets time after the test of another one', async () => {
  const world = await makeReadyWorld((clock) => {
    const fake = fakeRedmine(clock);
    fake.members[11] = [2, 9];
    return fake;
  });
  await world.write(502, time('Ada', 15, ADA));
  await world.write(504, time('Tess'));
  for (let wait = 0; wait < 3; wait++) await world.pass(MINUTE_MS);
  expect(timesOf(world)).toEqual(['Ada', 'Tess']);
});
