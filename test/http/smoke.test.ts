import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { countD1 } from '../support/d1.ts';
import { makeApi, makeKey, makeOrganization, rowsOf } from '../support/world.ts';

test('smoke', async () => {
  const org = await makeOrganization();
  const key = await makeKey(org);
  const counted = countD1(env.DB);
  const api = makeApi({ bindings: { DB: counted.db } });
  const response = await api.postTime(key.value, undefined, { 'Idempotency-Key': 'a' });
  console.log(response.status, await response.text(), counted.calls);
  const note = await api.postNote(key.value);
  console.log(note.status, await note.text(), counted.calls);
  const t = await api.postTime(key.value, { minutes: 3, description: 'x', billable: false, userEmail: 'tess@northwind.example' });
  console.log(t.status, await t.text(), counted.calls, await rowsOf('audit_log', org));
  expect(response.status).toBe(201);
});
