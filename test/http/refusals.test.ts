import { describe, expect, test } from 'vitest';
import { timeOrderedId } from '../../src/domain/record-id.ts';
import { bearer, describeRefusals, type Route, send } from '../support/refusals.ts';
import { makeApi, makeKey, makeOrganization, TIME } from '../support/world.ts';

type Api = ReturnType<typeof makeApi>;

/** Every route of the API. */
const routes = {
  ping: { scope: undefined, method: 'GET', path: '/api/v1/ping' },
  notes: { scope: 'tickets:note:write', method: 'POST', path: '/api/v1/tickets/1001/notes', body: { message: 'x' } },
  'time entries': {
    scope: 'tickets:time:write',
    method: 'POST',
    path: '/api/v1/tickets/1001/time-entries',
    body: TIME,
  },
  'the dry run of a note': {
    scope: 'tickets:note:write',
    method: 'POST',
    path: '/api/v1/tickets/1001/notes/dry-run',
    body: { message: 'x' },
  },
  'the dry run of an entry': {
    scope: 'tickets:time:write',
    method: 'POST',
    path: '/api/v1/tickets/1001/time-entries/dry-run',
    body: TIME,
  },
  'an unknown address': { scope: undefined, method: 'GET', path: '/api/v1/nowhere' },
  'a wrong method': { scope: undefined, method: 'GET', path: '/api/v1/tickets/1001/notes' },
} as const;

describeRefusals(routes);

describe.each<[string, Route]>([
  ['ping', routes.ping],
  ['notes', routes.notes],
  ['time entries', routes['time entries']],
  ['the dry run of a note', routes['the dry run of a note']],
])('%s', (_, route) => {
  const call = (api: Api, headers: Record<string, string>) => send(api, route, headers);

  test('a good key whose plan lacks PSA gets 403 before its body is read', async () => {
    const organization = await makeOrganization({ psa: false });
    const key = await makeKey(organization);
    const response = await call(makeApi(), { ...bearer(key.value), 'Content-Type': 'text/plain' });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({
      code: 'psa_not_included',
      detail: expect.stringContaining('Ask the provider of your ticketing system'),
    });
    expect(response.headers.get('RateLimit')).toMatch(/^"key";r=199;/);
  });
});

test('the addresses of one IPv6 /64 share a limit, and X-Forwarded-For does not change it', async () => {
  const api = makeApi({ config: { ipLimit: { quota: 2, windowMs: 10_000 } } });
  const network = `2001:db8:${timeOrderedId(Date.now()).slice(-4)}`;
  const from = async (address: string) =>
    (
      await api.send('/api/v1/ping', {
        headers: { 'CF-Connecting-IP': address, 'X-Forwarded-For': crypto.randomUUID() },
      })
    ).status;
  expect(await from(`${network}:1::1`)).toBe(401);
  expect(await from(`${network}:1:ffff::2`)).toBe(401);
  expect(await from(`${network}:1:abcd::3`)).toBe(429);
  expect(await from(`${network}:2::1`)).toBe(401);
});
