import { env } from 'cloudflare:workers';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { aroundD1, countD1 } from '../../support/d1.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { makeApi, makeOrganization, makeWorld, problemOf, seenByProber } from '../../support/world.ts';
import { makePsa, PSA_SECRET, signed } from './support.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const CHANGES = JSON.stringify({ type: 'work.changes', data: { organization: 'nobody', cursor: null } });
const MINUTE = 60_000;

test('a deployment without a secret has nothing at its paths, like any other path', async () => {
  const api = makeApi();
  const other = await seenByProber(await api.send('/nothing', signed(CHANGES)));
  const bodyOf = ({ status, body }: typeof other) => [status, body.replace(/"requestId":"[^"]+"/, '')];
  for (const [path, init] of [
    ['/psa', signed(CHANGES)],
    ['/psa', { method: 'GET' }],
  ] as const) {
    expect(bodyOf(await seenByProber(await api.send(path, init)))).toEqual(bodyOf(other));
  }
  expect(other.status).toBe(404);
});

describe('a message that is not accepted', () => {
  // Every 401 has the time.
  const now = Date.now();
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now });
  });
  const other = `whsec_${btoa('the secret of someone else......')}`;
  const valid = signed(CHANGES);
  const without = (name: string) => ({
    ...valid,
    headers: Object.fromEntries(Object.entries(valid.headers).filter(([key]) => key !== name)),
  });
  const refused = {
    'without a signature': without('webhook-signature'),
    'without an id': without('webhook-id'),
    'without a time': without('webhook-timestamp'),
    'with the signature of another secret': signed(CHANGES, { secret: other }),
    'with the signature of another body': { ...valid, body: CHANGES.replace('nobody', 'anybody') },
    'with the signature of another id': { ...valid, headers: { ...valid.headers, 'webhook-id': 'msg_2' } },
    'with an empty body': { ...valid, body: '' },
    'from more than five minutes ago': signed(CHANGES, { at: Date.now() - 5 * MINUTE - 2_000 }),
    // A minute more, because the message is sent later than it is made.
    'from more than five minutes ahead': signed(CHANGES, { at: Date.now() + 6 * MINUTE }),
    'with a malformed signature': signed(CHANGES, { headers: { 'webhook-signature': 'v1,=' } }),
    'with a signature whose base64 has too much padding': signed(CHANGES, {
      headers: { 'webhook-signature': 'v1,ab=' },
    }),
    'with the secret instead of a signature': signed(CHANGES, { headers: { 'webhook-signature': `v1,${PSA_SECRET}` } }),
  };

  test.each(Object.entries(refused))('%s gets the constant 401, and reads nothing', async (_, init) => {
    const d1 = countD1(env.DB);
    const { api } = makePsa({ bindings: { DB: d1.db } });
    const seen = await seenByProber(await api.send('/psa', init));
    expect(seen).toEqual(await seenByProber(await api.send('/psa', { method: 'POST' })));
    expect(seen).toMatchObject({ status: 401, body: '{"type":"about:blank","title":"Unauthorized","status":401}' });
    expect(Object.fromEntries(seen.headers)).toMatchObject({
      'www-authenticate': 'StandardWebhooks',
      date: new Date(now).toUTCString(),
      'cache-control': 'no-store',
    });
    expect(d1.calls).toEqual([]);
  });

  test("a message with an API key's header is refused, and an API key opens nothing", async () => {
    const { organization, key } = await makeWorld();
    const { api } = makePsa();
    const body = JSON.stringify({ type: 'work.changes', data: { organization, cursor: null } });
    const unsigned = { method: 'POST', key, body, headers: { 'Content-Type': 'application/json' } };
    expect((await api.send('/psa', unsigned)).status).toBe(401);
    expect((await api.send('/psa', { ...signed(body, { secret: other }), key })).status).toBe(401);
    const asSignature = signed(body, { headers: { 'webhook-signature': `v1,${key}` } });
    expect((await api.send('/psa', { ...asSignature, key })).status).toBe(401);
  });

  test('the reason appears in the log only', async () => {
    const { api } = makePsa();
    await api.send('/psa', refused['without an id']);
    await api.send('/psa', refused['from more than five minutes ago']);
    await api.send('/psa', refused['with the signature of another secret']);
    expect(loggedLines('request').map(({ reason }) => reason)).toEqual(['headers', 'timestamp', 'signature']);
  });
});

test('the secret and signed messages open nothing of the API', async () => {
  const { organization } = await makeWorld();
  const { api } = makePsa();
  for (const [method, path] of [
    ['GET', '/api/v1/ping'],
    ['POST', '/api/v1/tickets/1001/notes'],
    ['POST', '/api/v1/tickets/1001/time-entries'],
  ] as const) {
    const body = method === 'POST' ? JSON.stringify({ message: organization }) : '';
    const { headers } = signed(body);
    const init = { method, headers, ...(method === 'POST' && { body }) };
    expect((await api.send(path, init)).status).toBe(401);
    expect((await api.send(path, { ...init, key: PSA_SECRET })).status).toBe(401);
  }
});

test('each of two secrets is accepted while one replaces the other', async () => {
  const next = `whsec_${btoa('the next secret of the PSA......')}`;
  const organization = await makeOrganization();
  const { call } = makePsa({ vars: { PSA_SECRET: `${next} ${PSA_SECRET}` } });
  for (const secret of [next, PSA_SECRET])
    expect((await call('work.changes', { organization, cursor: null }, { secret }))[0]).toBe(200);
});

describe('a message before its call', () => {
  test('the message counts against the address limit, whatever it contains', async () => {
    const ipLimit = { quota: 1, windowMs: 10_000 };
    const { api, post } = makePsa({ config: { ipLimit } });
    expect((await api.send('/psa', { method: 'POST', body: 'x' })).status).toBe(401);
    const response = await post('');
    expect(response.headers.get('Retry-After')).toMatch(/^[1-9]/);
    expect(await problemOf(response)).toBe('429 rate_limited');
    // The API has a limit of its own.
    expect((await api.send('/api/v1/ping')).status).toBe(401);
  });

  test('the message must be a POST, and may have 1 MiB', async () => {
    const { api, post } = makePsa();
    const wrongMethod = await api.send('/psa', { method: 'PUT' });
    expect(wrongMethod.headers.get('Allow')).toBe('POST');
    expect(await problemOf(wrongMethod)).toBe('405 method_not_allowed');
    const largest = JSON.stringify({
      type: 'work.changes',
      data: { organization: 'x'.repeat(1024 * 1024 - 64), cursor: null },
    });
    expect(new TextEncoder().encode(largest).length).toBeLessThanOrEqual(1024 * 1024);
    expect((await post(largest)).status).toBe(422);
  });

  test('a pause of the API does not hold up the message', async () => {
    const organization = await makeOrganization();
    const { call } = makePsa({ config: { mode: 'paused' } });
    expect((await call('work.changes', { organization, cursor: null }))[0]).toBe(200);
  });
});

test('the log shows the call, its organization and its outcome', async () => {
  const organization = await makeOrganization();
  const { call } = makePsa();
  await call('work.redact', { organization, kind: 'note', id: crypto.randomUUID(), by: 'Ada Lovelace, by phone' });
  expect(loggedLines('request').at(-1)).toMatchObject({
    event: 'request',
    route: '/psa',
    status: 404,
    problem: 'record_not_found',
    call: 'work.redact',
    organization,
    d1Calls: 2,
    limiterCalls: 1,
  });
});

test('the log shows the cause if the database is unavailable', async () => {
  const organization = await makeOrganization();
  const DB = aroundD1(env.DB, () => Promise.reject(new Error('D1_ERROR: D1 DB is overloaded.')));
  const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const response = await makePsa({ bindings: { DB } }).post({
    type: 'work.changes',
    data: { organization, cursor: null },
  });
  const lines = errors.mock.calls.map(([line]) => JSON.parse(String(line)));
  vi.restoreAllMocks();
  expect(response.status).toBe(503);
  const requestId = response.headers.get('X-Request-Id');
  expect(lines).toEqual([
    { event: 'unavailable', requestId, cause: ['D1Failure: D1 not_run: overloaded'] },
    expect.objectContaining({ event: 'request', requestId, status: 503, problem: 'unavailable' }),
  ]);
});
