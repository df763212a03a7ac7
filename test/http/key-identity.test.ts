import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { makeApi, makeKey, makeOrganization, rowsOf } from '../support/world.ts';

test('a cached key whose id belongs to another value by now writes nothing, and gets the constant 401', async () => {
  const organization = await makeOrganization();
  const key = await makeKey(organization);
  const api = makeApi();
  expect((await api.postNote(key.value)).status).toBe(201);
  // Another value takes over the id: a restored backup could do that.
  await env.DB.prepare('update api_keys set hash = ? where organization_id = ? and id = ?')
    .bind('f'.repeat(64), organization, key.id)
    .run();
  expect((await api.postNote(key.value)).status).toBe(401);
  expect((await api.postTime(key.value)).status).toBe(401);
  expect(await rowsOf('notes', organization)).toHaveLength(1);
  expect(await rowsOf('time_entries', organization)).toHaveLength(0);
});
