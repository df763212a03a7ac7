import { expect, test } from 'vitest';
import { bearer, describeRefusals, send } from '../support/refusals.ts';
import { makeApi, makeKey, makeOrganization, TIME } from '../support/world.ts';

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

test.each(['ping', 'notes', 'time entries', 'the dry run of a note'] as const)(
  'a good key whose plan lacks PSA gets 403 before its body is read: %s',
  async (name) => {
    const { value } = await makeKey(await makeOrganization({ psa: false }));
    const response = await send(makeApi(), routes[name], { ...bearer(value), 'Content-Type': 'text/plain' });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({
      code: 'psa_not_included',
      detail: expect.stringContaining('Ask the provider of your ticketing system'),
    });
    expect(response.headers.get('RateLimit')).toMatch(/^"key";r=199;/);
  },
);
