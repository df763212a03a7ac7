import { expect, test } from 'vitest';
import { fakeRedmine } from '../../adapters/fake-redmine.ts';
import { makeReadyWorld } from '../../adapters/world.ts';
import { rowsOf } from '../../support/world.ts';
import { archive, everyChange } from './support.ts';

const MINUTE_MS = 60_000;

test('a resumed adapter writes a refused record that is archived by now, and it is reported as taken', async () => {
  const world = await makeReadyWorld(fakeRedmine);
  world.onRequest = ({ method }) => (method === 'GET' ? undefined : new Response(null, { status: 422 }));
  await world.write(502, { message: 'Refused' });
  await world.pass(MINUTE_MS);
  expect((await archive(world.organization)).status).toBe('archived');
  expect(await rowsOf('notes', world.organization)).toEqual([]);
  world.onRequest = () => undefined;
  world.settings.RESUME = 'again';
  await world.pass(MINUTE_MS);
  expect(world.data.notes.map(({ text }) => world.fake.plain(text))).toEqual(['Refused']);
  const { archived, rows } = await everyChange(world.organization);
  expect([...archived, ...rows].map(({ action }) => action).slice(-1)).toEqual(['note.taken']);
});
