import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { readContract } from '../../support/contract.ts';
import { aroundD1 } from '../../support/d1.ts';
import { BOTH_SCOPES, config, makeApi, makeKey, makeOrganization, revoke, TIME } from '../../support/world.ts';

const PING = 'GET /ping';
const NOTE = 'POST /tickets/{ticketId}/notes';
const ENTRY = 'POST /tickets/{ticketId}/time-entries';
const CONTRACT = 'GET /openapi.json';

const api = makeApi();
const plain = makeApi({ origin: 'http://api.example' });
const contract = readContract(await (await api.send('/api/v1/openapi.json')).text());

const EXPIRES = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10);

/** The answers are collected while the tests run; the last tests look at them together. */
async function agrees(operation: string, status: number, response: Response | Promise<Response>): Promise<void> {
  const answer = await response;
  expect(await contract.undocumented(operation, answer)).toEqual([]);
  expect(answer.status).toBe(status);
}

/** D1 that fails every call. */
const broken = (message: string) => ({ DB: aroundD1(env.DB, () => Promise.reject(new Error(message))) });

/** D1 that commits the first write, loses the answer to it, and is gone from then on. */
function losesAnswers() {
  let lost = false;
  const DB = aroundD1(env.DB, async (run, statements) => {
    const results = lost ? [] : await run();
    lost ||= statements > 1;
    if (lost) throw new Error('Network connection lost.');
    return results;
  });
  return { DB };
}

let organization: string;
let key: string;
let narrow: string;
let planless: string;
let limited: string;

beforeAll(async () => {
  // The faults below are meant; what the log says of them is tested elsewhere.
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  organization = await makeOrganization();
  key = (await makeKey(organization, { expires: EXPIRES })).value;
  narrow = (await makeKey(organization, { limit: { quota: 1, windowMs: 10_000 } })).value;
  limited = (await makeKey(organization, { limit: { quota: 1, windowMs: 10_000 } })).value;
  planless = (await makeKey(await makeOrganization({ psa: false }))).value;
});

test('the document has every operation of the app and no other', () => {
  const routes = createApp(config())
    .routes.filter(({ method, path }) => method !== 'ALL' && path.startsWith('/api/'))
    .map(({ method, path }) => `${method} ${path.replace('/api/v1', '').replaceAll(/:(\w+)/g, '{$1}')}`);
  expect([...new Set(routes)].sort()).toEqual(contract.operations.sort());
});

test('the document names the address it was asked at, and needs no key', async () => {
  const response = await api.send('/api/v1/openapi.json');
  expect(await response.json()).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'https://api.example/api/v1' }] });
});

test('the document is there for GET only, as a good key learns and nobody else', async () => {
  const response = await api.send('/api/v1/openapi.json', { method: 'POST', key });
  expect(response.status).toBe(405);
  expect(response.headers.get('Allow')).toBe('GET, HEAD');
  expect((await api.send('/api/v1/openapi.json', { method: 'POST' })).status).toBe(401);
});

describe('every answer is as documented:', () => {
  test('of the document itself', async () => {
    await agrees(CONTRACT, 200, api.send('/api/v1/openapi.json'));
    await agrees(CONTRACT, 403, plain.send('/api/v1/openapi.json'));
    const one = makeApi({ config: { ipLimit: { quota: 1, windowMs: 10_000 } } });
    const headers = { 'CF-Connecting-IP': '192.0.2.77' };
    await one.send('/api/v1/openapi.json', { headers });
    await agrees(CONTRACT, 429, one.send('/api/v1/openapi.json', { headers }));
  });

  test('of ping', async () => {
    const ping = (bearer?: string, through = api) =>
      through.send('/api/v1/ping', bearer === undefined ? {} : { key: bearer });
    await agrees(PING, 200, ping(key));
    await agrees(PING, 401, ping());
    await agrees(PING, 403, ping(planless));
    await agrees(PING, 403, ping(key, plain));
    await agrees(PING, 405, api.send('/api/v1/ping', { key, method: 'DELETE' }));
    await ping(limited);
    await agrees(PING, 429, ping(limited));
    await agrees(PING, 500, ping(key, makeApi({ bindings: broken('D1_ERROR: no such table: SQLITE_ERROR') })));
    await agrees(PING, 503, ping(key, makeApi({ bindings: broken('Network connection lost.') })));
  });

  const writes = [
    { operation: NOTE, path: 'notes', body: { message: 'Done' }, other: { message: 'Done again' } },
    { operation: ENTRY, path: 'time-entries', body: TIME, other: { ...TIME, minutes: 31 } },
  ];
  test.each(writes)('of $operation', async ({ operation, path, body, other }) => {
    const address = `/api/v1/tickets/1001/${path}`;
    const post = (sent: unknown, headers: Record<string, string> = {}, at = address, bearer = key, through = api) =>
      through.post(at, bearer, sent, headers);
    const once = { 'Idempotency-Key': 'triage:evt-1' };

    await agrees(operation, 201, post(body));
    await agrees(operation, 201, post(body, once));
    await agrees(operation, 200, post(body, once));
    await agrees(operation, 200, post(other, once));

    await agrees(operation, 400, post('{"minutes": "a\nb"}'));
    await agrees(operation, 400, post(new Uint8Array([0x7b, 0xff, 0x7d])));
    await agrees(operation, 400, post(body, { 'Idempotency-Key': '' }));
    await agrees(operation, 401, post(body, {}, address, 'not-a-key'));
    await agrees(operation, 403, post(body, {}, address, planless));
    await agrees(operation, 403, post(body, {}, address, key, plain));
    await agrees(operation, 404, post(body, {}, `/api/v1/tickets//${path}`));
    await agrees(operation, 404, post(body, {}, `/api/v1/tickets/4711/${path}`));
    await agrees(operation, 405, api.send(address, { key, method: 'DELETE' }));
    await agrees(operation, 413, post('x'.repeat(600_000)));
    await agrees(operation, 415, post(body, { 'Content-Type': 'text/plain' }));
    await agrees(operation, 422, post({ ...body, hourlyRate: 1, status: 'APPROVED' }));
    await post(body, {}, address, narrow);
    await agrees(operation, 429, post(body, {}, address, narrow));

    await agrees(
      operation,
      500,
      post(body, {}, address, key, makeApi({ bindings: broken('D1_ERROR: no such table: SQLITE_ERROR') })),
    );
    await agrees(
      operation,
      503,
      post(body, {}, address, key, makeApi({ bindings: broken('Network connection lost.') })),
    );
    const retried = { 'Idempotency-Key': 'triage:evt-2' };
    await agrees(operation, 503, post(body, retried, address, key, makeApi({ bindings: losesAnswers() })));
    await agrees(operation, 503, post(body, {}, address, key, makeApi({ bindings: losesAnswers() })));
  });

  test('of time entries that name a technician, or send text for numbers', async () => {
    await agrees(ENTRY, 201, api.postTime(key, { ...TIME, userEmail: 'Tess@northwind.example' }));
    await agrees(ENTRY, 422, api.postTime(key, { ...TIME, userEmail: 'ivan@northwind.example' }));
    await agrees(ENTRY, 422, api.postTime(key, { ...TIME, minutes: '30' }));
  });

  test('of a revoked key and of one without the scope', async () => {
    const revoked = await makeKey(organization);
    await revoke(organization, revoked.id);
    await agrees(NOTE, 401, api.postNote(revoked.value));
    const other = await makeKey(organization, { scopes: BOTH_SCOPES.slice(1) });
    await agrees(NOTE, 401, api.postNote(other.value));
  });
});

test('nothing is documented that the service does not answer', () => {
  expect(contract.unseen()).toEqual([]);
});

describe('a body that the document allows is accepted, and one that it does not is refused:', () => {
  const text = (description: string) => ({ ...TIME, description });
  test.each([
    ['the shortest', { ...TIME, minutes: 1, description: 'x' }, true],
    [
      'the longest, in characters outside the basic plane',
      { ...TIME, minutes: 1440, description: '🖨'.repeat(32_000) },
      true,
    ],
    ['white space around the text', text('\n Done\t'), true],
    ['one character too long', text('x'.repeat(32_001)), false],
    ['no text', text(''), false],
    ['only white space', text(' \u00a0\n'), false],
    ['no minutes', { ...TIME, minutes: 0 }, false],
    ['more minutes than a day has', { ...TIME, minutes: 1441 }, false],
    ['half a minute', { ...TIME, minutes: 1.5 }, false],
    ['minutes as text', { ...TIME, minutes: '30' }, false],
    ['billable as text', { ...TIME, billable: 'true' }, false],
    ['a technician', { ...TIME, userEmail: 'TESS@northwind.example' }, true],
    ['no address', { ...TIME, userEmail: 'tess' }, false],
    ['null for an optional field', { ...TIME, userEmail: null }, false],
    ['a field missing', { minutes: 30, description: 'x' }, false],
    ['a field of the answer', { ...TIME, hourlyRate: 150 }, false],
    ['a list', [TIME], false],
  ])('%s', async (_, body, allowed) => {
    expect(contract.allows(ENTRY, body)).toBe(allowed);
    expect((await api.postTime(key, body)).status).toBe(allowed ? 201 : 422);
  });
});
