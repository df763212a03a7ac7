import { exports } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import type { Api } from '../../src/http/agent-env.ts';
import { makeKey, makeOrganization, NOTE, newAddress, rowsOf } from '../support/world.ts';

// Through real RPC: request and response are serialized, as between two Workers.
const api: Api = exports.Api;

const from = (address: string, key: string) =>
  new Request('https://api.example/api/v1/tickets/1001/notes', {
    method: 'POST',
    headers: {
      'CF-Connecting-IP': address,
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'User-Agent': 'an agent',
    },
    body: JSON.stringify(NOTE),
  });

test('the caller of the entry point names the address, and no header of the request does', async () => {
  const organization = await makeOrganization();
  const [allowed, other] = [newAddress(), newAddress()];
  const { value: key } = await makeKey(organization, { networks: allowed });
  for (const address of [other, null]) expect((await api.send(from(allowed, key), address)).status).toBe(401);
  const response = await api.send(from(other, key), allowed);
  expect([response.status, await response.json()]).toEqual([201, { note: expect.anything() }]);
  expect(response.headers.get('RateLimit')).toMatch(/^"key";r=\d+;t=\d+, "key-day";/);
  const [row] = (await rowsOf('audit_log', organization)).slice(-1);
  expect(row).toMatchObject({ action: 'note.created', source_address: allowed, user_agent: 'an agent' });
});
