import { expect, test } from 'vitest';
import { testMapping } from './conformance.ts';
import { fakeRedmine } from './fake-redmine.ts';
import { isWrite, MINUTE_MS, makeReadyWorld, notesOf, reportsOf } from './world.ts';

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
