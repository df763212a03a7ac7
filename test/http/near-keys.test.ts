import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { generateKey, keyHint } from '../../src/domain/api-key.ts';
import { aroundD1, countD1, REPLICA_REGION, withReplica } from '../support/d1.ts';
import { loggedLines } from '../support/searched-logs.ts';
import { makeSignIn } from '../support/sign-in.ts';
import { callTool, postMcp, type ToolResult } from '../support/tools.ts';
import {
  changeOrganization,
  type KeyOptions,
  makeApi,
  makeKey,
  makeOrganization,
  NOTE,
  newAddress,
  problemOf,
  revoke,
  rotate,
  rowsOf,
  seenByProber,
  TIME,
} from '../support/world.ts';

// A write whose key is not cached reads it from a replica if one is nearer than the primary. The
// replica here is behind: it has what was there at its last catchUp.

const hour = 3_600_000;

/** An organization with a key that its replica has, and apps that read from the replica. */
async function world(options: KeyOptions = {}) {
  const organization = await makeOrganization();
  const key = await makeKey(organization, options);
  const replica = withReplica(env.DB);
  await replica.catchUp(organization);
  const { db, calls } = countD1(replica.db);
  /** A new isolate: its cache is empty. */
  const isolate = (more: Parameters<typeof makeApi>[0] = {}) =>
    makeApi({ agents: true, ...more, bindings: { DB: db, RATE_LIMITER: env.RATE_LIMITER, ...more.bindings } });
  return { organization, key, replica, isolate, calls };
}
type World = Awaited<ReturnType<typeof world>>;

/** An isolate that has cached the key. */
async function warm({ isolate, key }: World) {
  const api = isolate();
  expect((await api.postNote(key.value, NOTE, { 'Idempotency-Key': 'k' })).ok).toBe(true);
  return api;
}

/** Where each call so far was answered, with the number of statements at the primary. */
const placesOf = ({ calls }: World) =>
  calls.splice(0).map(({ replica, statements }) => (replica ? 'near' : statements));

const setKey = ({ organization, key }: World, assignment: string, value: unknown) =>
  env.DB.prepare(`update api_keys set ${assignment} = ? where organization_id = ? and id = ?`)
    .bind(value, organization, key.id)
    .run();

type Send = (api: ReturnType<typeof makeApi>, key: string) => Promise<Response>;

const NOTE_ARGUMENTS = { ticketId: '1001', message: 'Restarted the print spooler', idempotencyKey: 'triage:evt-1' };
const [call, post] = [callTool, postMcp];
const TOOLS: Record<string, Send> =
  call && post
    ? {
        'a tool': (api, key) => call(api, key, 'add_internal_note', NOTE_ARGUMENTS),
        'a tool with wrong arguments': (api, key) => call(api, key, 'add_internal_note', {}),
        'a list of tools': (api, key) => post(api, key, 'tools/list'),
      }
    : {};

/** Writes in every way that can go wrong before the database decides. */
const WRITES: Record<string, Send> = {
  'a good body': (api, key) => api.postTime(key),
  'a body that breaks a rule': (api, key) => api.postTime(key, { minutes: 0 }),
  'no JSON': (api, key) => api.postNote(key, 'not json'),
  'a wrong media type': (api, key) => api.postNote(key, NOTE, { 'Content-Type': 'text/plain' }),
  'an empty Idempotency-Key': (api, key) => api.postTime(key, TIME, { 'Idempotency-Key': '' }),
  'an unknown ticket': (api, key) => api.postNote(key, NOTE, {}, '9999'),
  'a replay': (api, key) => api.postNote(key, NOTE, { 'Idempotency-Key': 'k' }),
  'a dry run': (api, key) => api.post('/api/v1/tickets/1001/time-entries/dry-run', key, TIME),
  ...TOOLS,
};

const CONSTANT_401 = '{"type":"about:blank","title":"Unauthorized","status":401}';

describe('a replica that is up to date', () => {
  test('an up-to-date replica saves a write its first call to the primary, by REST and by MCP, and the key is then cached', async () => {
    const near = await world();
    const rest = near.isolate();
    expect((await rest.postTime(near.key.value)).status).toBe(201);
    expect(placesOf(near)).toEqual(['near', 3]);
    expect((await rest.postNote(near.key.value)).status).toBe(201);
    expect(placesOf(near)).toEqual([3]);
    const response = await TOOLS['a tool']?.(near.isolate(), near.key.value);
    if (!response) return;
    expect((await response.json<{ result: ToolResult }>()).result.isError).toBeUndefined();
    expect(placesOf(near)).toEqual(['near', 3]);
  });

  test('only writes read the replica', async () => {
    const near = await world();
    const { key, isolate, organization } = near;
    const { config: signIn, token } = await makeSignIn();
    const api = isolate({ config: { signIn } });
    const headers = { 'Cf-Access-Jwt-Assertion': await token('ada@northwind.example') };
    expect((await api.send(`/settings/${organization}/keys`, { headers })).status).toBe(200);
    expect((await api.send('/api/v1/ping', { key: key.value })).status).toBe(200);
    expect((await api.send('/api/v1/nowhere', { key: key.value })).status).toBe(404);
    if (callTool) expect((await api.send('/mcp', { key: key.value })).status).toBe(405);
    await api.settled();
    expect(placesOf(near)).not.toContain('near');
  });

  test('the primary confirms a key before any refusal that is not about the key', async () => {
    const near = await world();
    const config = { keyLimit: { quota: 1, windowMs: 10_000 } };
    expect(await problemOf(near.isolate({ config }).postTime(near.key.value, { minutes: 0 }))).toBe(
      '422 validation_failed',
    );
    expect(placesOf(near)).toEqual(['near', 1]);
    expect(await problemOf(near.isolate({ config }).postTime(near.key.value))).toBe('429 rate_limited');
    expect(placesOf(near)).toEqual(['near', 1]);
  });
});

describe('a replica that is behind, when the key', () => {
  test('a key that was created a second ago can write immediately', async () => {
    const near = await world();
    const { value } = await makeKey(near.organization);
    expect((await near.isolate().postTime(value)).status).toBe(201);
    expect(placesOf(near)).toEqual(['near', 1, 3]);
    for (const write of Object.values(TOOLS).slice(0, 1)) {
      expect((await write(near.isolate(), value)).status).toBe(200);
      expect(placesOf(near)).toEqual(['near', 1, 3]);
    }
    const successor = await rotate(near.organization, near.key.id, { grace: 'now' });
    expect((await near.isolate().postNote(successor.value)).status).toBe(201);
  });

  test.each(Object.entries(WRITES))(
    'a key that was revoked gets the constant 401 on %s, also if an isolate has the key, and nothing is written',
    async (_, send) => {
      const near = await world();
      const isolates = [await warm(near), near.isolate()];
      await revoke(near.organization, near.key.id);
      const unknown = await seenByProber(await send(near.isolate(), generateKey('twb')));
      for (const api of isolates) {
        // Again, because the first one may have left something in the cache.
        for (const time of [1, 2]) {
          const seen = await seenByProber(await send(api, near.key.value));
          expect([time, seen]).toEqual([time, unknown]);
          expect(seen).toMatchObject({ status: 401, body: CONSTANT_401 });
        }
        await api.settled();
      }
      expect(await rowsOf('notes', near.organization)).toHaveLength(1);
      expect(await rowsOf('time_entries', near.organization)).toEqual([]);
      expect(await rowsOf('refused_uses', near.organization)).toMatchObject([{ reason: 'revoked' }]);
    },
  );

  test.each<[string, (near: World) => Promise<unknown>]>([
    ['expired', (near) => setKey(near, 'expires_at', Date.now() - 1)],
    ['lost its scopes', (near) => setKey(near, 'scopes', 'tickets:none')],
    ['may be used from other networks only', (near) => setKey(near, 'allowed_networks', '203.0.113.0/24')],
    [
      'belongs to an organization that was closed',
      ({ organization }) => changeOrganization(organization, { active: false }),
    ],
    ['has another value', (near) => setKey(near, 'hash', 'e'.repeat(64))],
  ])('a key that %s gets the constant 401 on good and bad writes, also if an isolate has it', async (why, change) => {
    const near = await world();
    const cases = [];
    for (const [name, send] of Object.entries(WRITES))
      for (const api of [await warm(near), near.isolate()]) cases.push({ name, send, api });
    await change(near);
    for (const { name, send, api } of cases) {
      // The list has the tools of any live key.
      if (why === 'lost its scopes' && name === 'a list of tools') continue;
      const response = await send(api, near.key.value);
      expect([name, response.status, await response.text()]).toEqual([name, 401, CONSTANT_401]);
    }
    expect(await rowsOf('notes', near.organization)).toHaveLength(1);
    expect(await rowsOf('time_entries', near.organization)).toEqual([]);
  });

  test.each<[string, KeyOptions, (near: World) => Promise<unknown>]>([
    [
      'had expired, and no longer does',
      { expires: new Date(Date.now() + hour).toISOString() },
      (near) => setKey(near, 'expires_at', null),
    ],
    [
      'got its scope',
      { scopes: ['tickets:note:write'] },
      (near) => setKey(near, 'scopes', 'tickets:note:write tickets:time:write'),
    ],
    ['may be used from everywhere now', { networks: '203.0.113.0/24' }, (near) => setKey(near, 'allowed_networks', '')],
  ])('a key that %s can write immediately', async (_, options, change) => {
    const near = await world(options);
    await change(near);
    const now = () => Date.now() + 2 * hour;
    expect((await near.isolate({ now }).postTime(near.key.value)).status).toBe(201);
    expect(placesOf(near)).toEqual(['near', 1, 3]);
  });

  test('companies that a key is limited to apply immediately, by REST and by MCP', async () => {
    const near = await world();
    await setKey(near, 'companies', 'globex');
    expect(await problemOf(near.isolate().postNote(near.key.value))).toBe('404 ticket_not_found');
    const tool = await TOOLS['a tool']?.(near.isolate(), near.key.value);
    if (tool) expect((await tool.json<{ result: ToolResult }>()).result.isError).toBe(true);
    expect(await rowsOf('notes', near.organization)).toEqual([]);
    expect((await near.isolate().postNote(near.key.value, NOTE, {}, '1002')).status).toBe(201);
    await setKey(near, 'companies', '');
    expect((await near.isolate().postNote(near.key.value)).status).toBe(201);
  });

  test('lower daily limits apply immediately', async () => {
    const near = await world();
    await setKey(near, 'day_limit_records', 1);
    expect((await near.isolate().postTime(near.key.value)).status).toBe(201);
    expect(await problemOf(near.isolate().postTime(near.key.value))).toBe('429 daily_limit_reached');
  });

  test.each(Object.entries(WRITES))(
    'limit and expiry that were changed are right in the headers of %s, also if an isolate has the key',
    async (_, send) => {
      const near = await world({ expires: new Date(Date.now() + hour).toISOString() });
      const [known, cold] = [await warm(near), near.isolate()];
      const expiry = Date.now() + 2 * hour;
      await setKey(near, 'expires_at', expiry);
      await setKey(near, 'day_limit_records', 5);
      for (const api of [known, cold]) {
        const { headers } = await send(api, near.key.value);
        expect(headers.get('Api-Key-Expires-At')).toBe(new Date(expiry).toISOString());
        expect(headers.get('RateLimit-Policy') ?? '').not.toMatch(/"key-day";q=(?!5;)/);
      }
      expect((await cold.postNote(near.key.value)).headers.get('RateLimit-Policy')).toContain('"key-day";q=5;');
    },
  );

  test("the work date follows the organization's new time zone", async () => {
    const near = await world();
    const now = () => Date.UTC(2026, 5, 1, 12);
    await changeOrganization(near.organization, { timeZone: 'Pacific/Kiritimati' });
    const response = await near.isolate({ now }).postTime(near.key.value);
    expect(await response.json()).toMatchObject({ entry: { workDate: '2026-06-02T00:00:00.000Z' } });
  });

  test('an organization whose plan ended gets 403 for good and bad bodies, by REST and by MCP', async () => {
    const near = await world();
    await changeOrganization(near.organization, { psa: false });
    expect(await problemOf(near.isolate().postTime(near.key.value))).toBe('403 psa_not_included');
    expect(await problemOf(near.isolate().postTime(near.key.value, 'not json'))).toBe('403 psa_not_included');
    for (const write of Object.values(TOOLS).slice(0, 2)) {
      const { result } = await (await write(near.isolate(), near.key.value)).json<{ result: ToolResult }>();
      expect(result.structuredContent['code']).toBe('psa_not_included');
    }
    expect(await rowsOf('notes', near.organization)).toEqual([]);
  });

  test('an organization whose plan began can write immediately', async () => {
    const near = await world();
    await changeOrganization(near.organization, { psa: false });
    await near.replica.catchUp(near.organization);
    await changeOrganization(near.organization, { psa: true });
    expect((await near.isolate().postTime(near.key.value)).status).toBe(201);
    expect(placesOf(near)).toEqual(['near', 1, 3]);
  });
});

describe('a key that the replica refuses', () => {
  test('a key that the replica refuses costs the same calls whatever is wrong with it, even if it is blocked', async () => {
    const near = await world();
    const [expired, unscoped, revoked, byHint, byId] = [
      await makeKey(near.organization, { expires: new Date(Date.now() + hour).toISOString() }),
      await makeKey(near.organization, { scopes: ['tickets:note:write'] }),
      await makeKey(near.organization),
      await makeKey(near.organization),
      await makeKey(near.organization),
    ];
    await revoke(near.organization, revoked.id);
    await near.replica.catchUp(near.organization);
    const config = { blockedKeys: new Set([keyHint(byHint.value), byId.id]) };
    const dead = { unknown: generateKey('twb'), ...{ expired, unscoped, revoked, byHint, byId } };
    for (const [cause, key] of Object.entries(dead)) {
      const value = typeof key === 'string' ? key : key.value;
      const now = cause === 'expired' ? () => Date.now() + hour : Date.now;
      const calls: Send[] = call ? [(api, key) => call(api, key, 'log_time', {})] : [];
      const writes: Send[] = [
        (api, key) => api.postTime(key),
        (api, key) => api.postTime(key, { minutes: 0 }),
        ...calls,
      ];
      for (const send of writes) {
        const api = near.isolate({ config, now });
        expect([cause, (await send(api, value)).status, placesOf(near)]).toEqual([cause, 401, ['near', 1]]);
        // The use of a refused key is recorded later.
        await api.settled();
        near.calls.length = 0;
      }
    }
  });
});

describe('a replica', () => {
  test.each(['D1_ERROR: no such column: k.hash', 'D1 DB is overloaded. Requests queued for too long.'])(
    'a replica that fails with %j is replaced by the primary',
    async (message) => {
      const near = await world();
      near.replica.error = new Error(message);
      expect((await near.isolate().postTime(near.key.value)).status).toBe(201);
      expect(placesOf(near)).toEqual([1, 3]);
      expect(loggedLines('nearby_key_not_read')).toHaveLength(1);
      await revoke(near.organization, near.key.id);
      expect((await near.isolate().postTime(near.key.value)).status).toBe(401);
    },
  );

  test('a replica that loses the connection is not tried again', async () => {
    const near = await world();
    near.replica.error = new Error('D1_ERROR: Network connection lost.');
    let attempts = 0;
    const DB = aroundD1(near.replica.db, (run, _statements, _sql, isNearby) => {
      if (isNearby) attempts += 1;
      return run();
    });
    expect((await near.isolate({ bindings: { DB } }).postTime(near.key.value)).status).toBe(201);
    expect(attempts).toBe(1);
  });

  test('a replica whose region is unknown counts as the primary', async () => {
    const near = await world();
    near.replica.isSilent = true;
    expect((await near.isolate().postTime(near.key.value)).status).toBe(201);
    expect(placesOf(near)).toEqual([1, 3]);
    expect((await near.isolate().postTime(generateKey('twb'))).status).toBe(401);
    expect(placesOf(near)).toEqual([1]);
  });
});

test("the log shows the replica's region, and whether the primary was read again", async () => {
  const near = await world();
  const lookupOf = async (request: Promise<Response>) => {
    loggedLines('request');
    await request;
    const [line] = loggedLines('request');
    return [line?.['lookup'], line?.['region'], line?.['readAgain'], line?.['d1Calls']];
  };
  const headers = { 'CF-Connecting-IP': newAddress() };
  const api = near.isolate();
  expect(await lookupOf(api.postTime(near.key.value, TIME, headers))).toEqual(['near', REPLICA_REGION, undefined, 2]);
  expect(await lookupOf(api.postTime(near.key.value))).toEqual(['warm', undefined, undefined, 1]);
  expect(await lookupOf(api.postTime(near.key.value, {}))).toEqual(['warm', undefined, true, 1]);
  expect(await lookupOf(near.isolate().postTime(near.key.value, {}))).toEqual(['near', REPLICA_REGION, true, 2]);
  expect(await lookupOf(api.postTime(generateKey('twb')))).toEqual(['near', REPLICA_REGION, true, 2]);
  expect(await lookupOf(api.send('/api/v1/ping', { key: near.key.value }))).toEqual(['cold', undefined, undefined, 1]);
  expect(await lookupOf(api.send('/api/v1/ping', { key: 'twb_1' }))).toEqual([undefined, undefined, undefined, 0]);
});
