import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { aroundD1 } from '../../support/d1.ts';
import { apiContract, readStatic } from '../../support/static-files.ts';
import { BOTH_SCOPES, config, makeApi, makeKey, makeOrganization, revoke, TIME } from '../../support/world.ts';

const PING = 'GET /ping';
const NOTE = 'POST /tickets/{ticketId}/notes';
const ENTRY = 'POST /tickets/{ticketId}/time-entries';

const api = makeApi();
const plain = makeApi({ origin: 'http://api.example' });
const hostless = makeApi({ origin: 'https://api.example, evil.example' });
const contract = await apiContract();

const EXPIRES = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10);

/**
 * Expects a response with this status, as documented. The contract notes what was seen, for a test
 * below.
 */
async function agrees(operation: string, status: number, answer: Response | Promise<Response>): Promise<void> {
  const response = await answer;
  expect(await contract.undocumented(operation, response)).toEqual([]);
  expect(response.status).toBe(status);
}

/** A D1 database that fails every call. */
const failing = (message: string) => ({ DB: aroundD1(env.DB, () => Promise.reject(new Error(message))) });

/** A D1 database that commits the first write, and loses its response and every later call. */
function losesResponses() {
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
let withoutPsa: string;

beforeAll(async () => {
  // The faults below are intended. Other tests check what is logged.
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  organization = await makeOrganization();
  key = (await makeKey(organization, { expires: EXPIRES })).value;
  withoutPsa = (await makeKey(await makeOrganization({ psa: false }))).value;
  return () => logged.mockRestore();
});

/** An app whose keys may send one request. */
const makeLimitedApi = () => makeApi({ config: { keyLimit: { quota: 1, windowMs: 10_000 } } });

test("the document contains exactly the app's operations", () => {
  const routes = createApp(config(), [])
    .routes.filter(({ method, path }) => method !== 'ALL' && path.startsWith('/api/'))
    .map(({ method, path }) => `${method} ${path.replace('/api/v1', '').replaceAll(/:(\w+)/g, '{$1}')}`);
  expect([...new Set(routes)].sort()).toEqual(contract.operations.sort());
});

test('the addresses in the document are relative to its own', async () => {
  const response = await readStatic('/api/v1/openapi.json');
  expect(response.headers.get('Content-Type')).toBe('application/json');
  expect(await response.json()).toMatchObject({ openapi: '3.1.0', servers: [{ url: '/api/v1' }] });
});

describe('the response agrees with the document', () => {
  test('a ping gets a documented response', async () => {
    const ping = (bearer?: string, through = api) =>
      through.send('/api/v1/ping', bearer === undefined ? {} : { key: bearer });
    await agrees(PING, 200, ping(key));
    await agrees(PING, 400, ping(key, hostless));
    await agrees(PING, 401, ping());
    await agrees(PING, 403, ping(withoutPsa));
    await agrees(PING, 403, ping(key, plain));
    await agrees(PING, 405, api.send('/api/v1/ping', { key, method: 'DELETE' }));
    const limited = makeLimitedApi();
    const { value: fresh } = await makeKey(organization);
    await ping(fresh, limited);
    await agrees(PING, 429, ping(fresh, limited));
    await agrees(PING, 500, ping(key, makeApi({ bindings: failing('D1_ERROR: no such table: SQLITE_ERROR') })));
    await agrees(PING, 503, ping(key, makeApi({ bindings: failing('Network connection lost.') })));
  });

  const writes = [
    { operation: NOTE, address: '/api/v1/tickets/1001/notes', body: { message: 'x' }, other: { message: 'y' } },
    { operation: ENTRY, address: '/api/v1/tickets/1001/time-entries', body: TIME, other: { ...TIME, minutes: 31 } },
  ];
  const dryRuns = writes.map(({ operation, address, ...bodies }) => ({
    operation: `${operation}/dry-run`,
    address: `${address}/dry-run`,
    ...bodies,
  }));

  test.each([...writes, ...dryRuns])(
    'each refusal of $operation is documented',
    async ({ operation, address, body }) => {
      const post = (sent: unknown, headers: Record<string, string> = {}, at = address, bearer = key, through = api) =>
        through.post(at, bearer, sent, headers);
      await agrees(operation, 400, post('{"minutes": "a\nb"}'));
      await agrees(operation, 400, post(new Uint8Array([0x7b, 0xff, 0x7d])));
      await agrees(operation, 400, post(body, { 'Idempotency-Key': '' }));
      await agrees(operation, 400, post(body, {}, address, key, hostless));
      await agrees(operation, 401, post(body, {}, address, 'not-a-key'));
      await agrees(operation, 403, post(body, {}, address, withoutPsa));
      await agrees(operation, 403, post(body, {}, address, key, plain));
      await agrees(operation, 404, post(body, {}, address.replace('1001', '')));
      await agrees(operation, 404, post(body, {}, address.replace('1001', '4711')));
      await agrees(operation, 405, api.send(address, { key, method: 'DELETE' }));
      await agrees(operation, 413, post('x'.repeat(600_000)));
      await agrees(operation, 415, post(body, { 'Content-Type': 'text/plain' }));
      await agrees(operation, 422, post({ ...body, hourlyRate: 1, status: 'APPROVED' }));
      if ('minutes' in body) await agrees(operation, 422, post({ ...body, userEmail: 'ivan@northwind.example' }));
      const { value: fresh } = await makeKey(organization);
      const full = makeApi({ config: { dayLimits: { key: { records: 1, bytes: 1_000_000 }, organization: null } } });
      expect((await full.postNote(fresh)).status).toBe(201);
      await agrees(operation, 429, post(body, {}, address, fresh, full));
      const limited = makeLimitedApi();
      await post(body, {}, address, fresh, limited);
      await agrees(operation, 429, post(body, {}, address, fresh, limited));
      const broken = (message: string) => makeApi({ bindings: failing(message) });
      await agrees(operation, 500, post(body, {}, address, key, broken('D1_ERROR: no such table: SQLITE_ERROR')));
      await agrees(operation, 503, post(body, {}, address, key, broken('Network connection lost.')));
    },
  );

  test.each(writes)('each other response to $operation is documented', async ({ operation, address, body, other }) => {
    const post = (sent: unknown, headers: Record<string, string> = {}, through = api) =>
      through.post(address, key, sent, headers);
    const once = { 'Idempotency-Key': 'triage:evt-1' };
    const strictly = { ...once, Prefer: 'handling=strict' };
    await agrees(operation, 201, post(body));
    await agrees(operation, 201, post(body, once));
    await agrees(operation, 200, post(body, once));
    await agrees(operation, 200, post(other, once));
    await agrees(operation, 201, post(body, { ...strictly, 'Idempotency-Key': 'triage:evt-strict' }));
    await agrees(operation, 200, post(body, strictly));
    await agrees(operation, 409, post(other, strictly));
    const retried = { 'Idempotency-Key': 'triage:evt-2' };
    await agrees(operation, 503, post(body, retried, makeApi({ bindings: losesResponses() })));
    await agrees(operation, 503, post(body, {}, makeApi({ bindings: losesResponses() })));
    const dryRun = (sent: unknown, headers = {}) => api.post(`${address}/dry-run`, key, sent, headers);
    await agrees(`${operation}/dry-run`, 200, dryRun(body));
    await agrees(`${operation}/dry-run`, 200, dryRun(body, strictly));
    await agrees(`${operation}/dry-run`, 409, dryRun(other, strictly));
  });

  test('time entries for a technician, or with text for a number, get documented responses', async () => {
    await agrees(ENTRY, 201, api.postTime(key, { ...TIME, userEmail: 'Tess@northwind.example' }));
    await agrees(ENTRY, 422, api.postTime(key, { ...TIME, minutes: '30' }));
  });

  test('a revoked key and a key without the scope get documented responses', async () => {
    const revoked = await makeKey(organization);
    await revoke(organization, revoked.id);
    await agrees(NOTE, 401, api.postNote(revoked.value));
    const other = await makeKey(organization, { scopes: BOTH_SCOPES.slice(1) });
    await agrees(NOTE, 401, api.postNote(other.value));
  });
});

test('the tests above received every documented status, code and header', () => {
  expect(contract.unseen()).toEqual([]);
});

describe('the document and the service', () => {
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
    ['an empty text', text(''), false],
    ['only white space', text(' \u00a0\n'), false],
    ['a technician', { ...TIME, userEmail: 'TESS@northwind.example' }, true],
    ['a list', [TIME], false],
  ])('agree about the validity of %s', async (_, body, allowed) => {
    expect(contract.allows(ENTRY, body)).toBe(allowed);
    expect((await api.postTime(key, body)).status).toBe(allowed ? 201 : 422);
  });
});
