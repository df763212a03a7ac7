import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAgents } from '../../../src/agents/app.ts';
import type { Scope } from '../../../src/domain/record-kinds.ts';
import { anyText, changedJson, headerValue, Tally } from '../../support/hostile.ts';
import { inLongRuns, runs } from '../../support/property.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import {
  makeApi,
  makeKey,
  makeOrganization,
  makeWorld,
  problemOf,
  revoke,
  rowsOf,
  UNLIMITED,
} from '../../support/world.ts';
import { makeMcpApi, message, NOTE_ARGUMENTS, post, resultOf } from './support.ts';

/** The options of an app whose keys may send `quota` requests in ten seconds. */
const limitedTo = (quota: number) => ({ config: { keyLimit: { quota, windowMs: 10_000 } } });

const LEGACY = { Accept: 'application/json, text/event-stream' };
const NOTE_CALL = { name: 'add_internal_note', arguments: NOTE_ARGUMENTS };

test('the main Worker returns 404 at this address', async () => {
  const { key } = await makeWorld();
  const api = makeApi();
  for (const init of [{ method: 'POST', key }, { method: 'GET', key }, { method: 'POST' }]) {
    expect(await problemOf(api.send('/mcp', init))).toBe('404 not_found');
  }
});

test('a request whose Host is not a host name gets 400 with a good key, and 401 without one', async () => {
  const { organization, key } = await makeWorld();
  const api = makeMcpApi({ origin: 'https://api.example, evil.example' });
  expect(await problemOf(post(api, key, 'tools/call', NOTE_CALL))).toBe('400 invalid_host');
  expect((await post(api, 'not-a-key', 'tools/call', NOTE_CALL)).status).toBe(401);
  expect(await rowsOf('notes', organization)).toEqual([]);
});

const NO_OAUTH = {
  error: 'invalid_request',
  error_description: expect.stringMatching(
    /^There is no OAuth here\. The API key in the Authorization header was missing/,
  ),
};

describe.each([
  ['the main Worker', makeApi],
  ['both Workers', makeMcpApi],
])('where clients look for OAuth, %s', (_, make) => {
  test.each([
    'oauth-protected-resource',
    'oauth-protected-resource/mcp',
    'oauth-authorization-server',
    'oauth-authorization-server/mcp',
    'openid-configuration',
    'openid-configuration/mcp',
  ])('%s contains no metadata, and explains why the client came here', async (path) => {
    const response = await make().send(`/.well-known/${path}`);
    expect([response.status, await response.json()]).toEqual([404, NO_OAUTH]);
  });

  test('no client can be registered', async () => {
    const response = await make().send('/register', { method: 'POST', body: '{}' });
    expect([response.status, await response.json()]).toEqual([404, NO_OAUTH]);
    expect(response.headers.get('Cache-Control')).toBe('no-store');
  });
});

test('requests to the API and to /mcp count against one address limit, and those to paths beside it against another', async () => {
  const api = makeMcpApi({ config: { ipLimit: { quota: 2, windowMs: 10_000 } } });
  const statuses = async (...paths: string[]) => {
    const found = [];
    for (const path of paths) found.push((await api.send(path)).status);
    return found;
  };
  expect(await statuses('/api/v1/ping', '/mcp', '/mcp', '/api/v1/ping')).toEqual([401, 401, 429, 429]);
  expect(await statuses('/mcp-other', '/elsewhere', '/mcp-other')).toEqual([404, 404, 429]);
});

test('paths below /mcp offer no OAuth and nothing else', async () => {
  const at = async (path: string) => (await makeMcpApi().send(path)).json();
  expect(await at('/mcp/.well-known/openid-configuration')).toEqual(NO_OAUTH);
  expect(await at('/mcp/.well-known/security.txt')).toMatchObject({ code: 'not_found' });
  expect(await at('/mcp-other')).toMatchObject({ code: 'not_found' });
});

test('/mcp with a slash at its end gets 404, and the error names the path without it', async () => {
  const { key } = await makeWorld();
  const { body, headers } = message('tools/list');
  const response = await makeMcpApi().post('/mcp/', key, body, headers);
  expect([response.status, await response.json()]).toMatchObject([
    404,
    { code: 'not_found', detail: 'The path ends with a slash; send the request to /mcp, without it.' },
  ]);
});

test('if the API cannot be reached, a call gets a result that asks to repeat it, and any other message the status 500', async () => {
  loggedLines('api_unreachable');
  const API = { send: () => Promise.reject(new Error('Network connection lost.')) };
  const send = (method: string, params: Record<string, unknown> = {}) => {
    const { body, headers } = message(method, params);
    const init = {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { ...headers, 'Content-Type': 'application/json' },
    };
    return createAgents().request('https://api.example/mcp', init, { API });
  };
  expect(await problemOf(send('tools/list'))).toBe('500 internal_error');
  const call = await send('tools/call', NOTE_CALL);
  expect([call.status, await call.json()]).toMatchObject([
    200,
    {
      result: {
        isError: true,
        structuredContent: {
          code: 'internal_error',
          message: expect.stringMatching(/call again with the same idempotencyKey and the same arguments\.$/),
        },
      },
    },
  ]);
  expect(loggedLines('api_unreachable')).toHaveLength(2);
});

test.each(['GET', 'DELETE', 'PUT', 'OPTIONS'])('%s needs a key and is refused', async (method) => {
  const { key } = await makeWorld();
  const api = makeMcpApi();
  const response = await api.send('/mcp', { method, key });
  expect([response.status, response.headers.get('Allow')]).toEqual([405, 'POST']);
  expect((await api.send('/mcp', { method })).status).toBe(401);
});

test('a pause of the API also pauses /mcp', async () => {
  const { key } = await makeWorld();
  const response = await post(makeMcpApi({ config: { mode: 'paused' } }), key, 'tools/list');
  expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '60']);
});

test('an Origin is refused before the key is read', async () => {
  const { key } = await makeWorld();
  const { body, headers } = message('tools/list');
  const api = makeMcpApi();
  const from = (origin: string, bearer = key) => api.post('/mcp', bearer, body, { ...headers, Origin: origin });
  for (const origin of ['https://page.example', 'null', '']) {
    expect((await from(origin)).status).toBe(403);
    expect((await from(origin, 'none')).status).toBe(403);
  }
});

test('plain HTTP is refused', async () => {
  const { key } = await makeWorld();
  const api = makeMcpApi({ origin: 'http://api.example' });
  expect(await problemOf(post(api, key, 'tools/list'))).toBe('403 https_required');
});

test('a batch is refused and writes nothing', async () => {
  const { organization, key } = await makeWorld();
  const api = makeMcpApi();
  const legacy = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: NOTE_CALL };
  for (const batch of [[message('tools/call', NOTE_CALL).body], [legacy, { ...legacy, id: 2 }], []]) {
    const response = await api.post('/mcp', key, batch, { Accept: 'application/json, text/event-stream' });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: -32600 } }]);
  }
  expect(await rowsOf('notes', organization)).toEqual([]);
});

test('a call whose headers name another tool writes nothing', async () => {
  const { organization, key } = await makeWorld();
  const { body, headers } = message('tools/call', NOTE_CALL);
  const response = await makeMcpApi().post('/mcp', key, body, { ...headers, 'Mcp-Name': 'log_time' });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { code: -32020 } }]);
  expect(await rowsOf('notes', organization)).toEqual([]);
});

describe.each([...SUPPORTED_PROTOCOL_VERSIONS, '2026-07-28'])('a client of the revision %s', (revision) => {
  const clientInfo = { name: 'test', version: '1.0.0' };
  const isLegacy = revision !== '2026-07-28';
  const sent = (method: string, params: Record<string, unknown> = {}) =>
    isLegacy
      ? { body: { jsonrpc: '2.0', id: 1, method, params }, headers: { 'MCP-Protocol-Version': revision } }
      : message(method, params);

  test.each([
    undefined,
    '',
    '*/*',
    'application/json',
    'text/event-stream',
    'text/event-stream, */*',
    'Application/JSON, Text/Event-Stream',
    'text/html',
  ])('gets JSON, whatever it accepts: %s', async (accept) => {
    const { key } = await makeWorld();
    const api = makeMcpApi();
    const send = async ({ body, headers }: ReturnType<typeof sent>) => {
      const all = new Headers(headers);
      all.delete('Accept');
      if (accept !== undefined) all.set('Accept', accept);
      const response = await api.post('/mcp', key, body, Object.fromEntries(all));
      return [response.status, response.headers.get('Content-Type'), await response.json()];
    };
    const found = (result: object) => [200, 'application/json', { result }];
    const opening = isLegacy
      ? sent('initialize', { protocolVersion: revision, capabilities: {}, clientInfo })
      : sent('server/discover');
    expect(await send(opening)).toMatchObject(found({ capabilities: { tools: {} } }));
    expect(await send(sent('tools/list'))).toMatchObject(found({ tools: [{}, {}] }));
    expect(await send(sent('tools/call', NOTE_CALL))).toMatchObject(found({ structuredContent: { ticketId: '1001' } }));
  });
});

test('an unknown revision, method or tool gets the error of the protocol', async () => {
  const { key } = await makeWorld();
  const api = makeMcpApi();
  const code = async (method: string, params = {}) => {
    const response = await post(api, key, method, params);
    return `${response.status} ${(await response.json<{ error: { code: number } }>()).error.code}`;
  };
  expect(await code('resources/list')).toBe('404 -32601');
  expect(await code('tools/call', { name: 'read_ticket', arguments: {} })).toBe('200 -32602');
  const { body, headers } = message('tools/list');
  const meta = { ...body.params._meta, 'io.modelcontextprotocol/protocolVersion': '2099-01-01' };
  const future = { ...body, params: { _meta: meta } };
  const response = await api.post('/mcp', key, future, { ...headers, 'MCP-Protocol-Version': '2099-01-01' });
  expect([response.status, await response.json()]).toMatchObject([400, { error: { code: -32022 } }]);
});

describe('the order of the checks', () => {
  const broken = '{"jsonrpc":';
  const unknownTicket = { name: 'add_internal_note', arguments: { ...NOTE_ARGUMENTS, ticketId: '9999' } };

  test('the key comes before the body, and its limit before body errors', async () => {
    const { organization } = await makeWorld();
    const { value: key } = await makeKey(organization);
    const api = makeMcpApi(limitedTo(2));
    expect((await api.post('/mcp', 'none', broken)).status).toBe(401);
    expect(await problemOf(api.post('/mcp', key, broken))).toBe('400 malformed_json');
    expect(await problemOf(api.post('/mcp', key, broken, { 'Content-Type': 'text/plain' }))).toBe(
      '415 unsupported_media_type',
    );
    expect(await problemOf(api.post('/mcp', key, broken))).toBe('429 rate_limited');
  });

  test("the key's limit comes before the plan, and the plan before the arguments", async () => {
    const organization = await makeOrganization({ psa: false });
    const { value: key } = await makeKey(organization);
    const api = makeMcpApi(limitedTo(1));
    const wrong = { name: 'add_internal_note', arguments: {} };
    const first = await post(api, key, 'tools/call', wrong);
    expect(await first.json()).toMatchObject({
      result: { isError: true, structuredContent: { code: 'psa_not_included' } },
    });
    expect((await resultOf(api, key, 'add_internal_note', {})).structuredContent).toMatchObject({
      code: 'rate_limited',
    });
  });

  test('requests to both interfaces count against one limit of the key', async () => {
    const { organization } = await makeWorld();
    const { value: key } = await makeKey(organization);
    const api = makeMcpApi(limitedTo(2));
    expect((await api.postNote(key)).status).toBe(201);
    const call = await post(api, key, 'tools/call', unknownTicket);
    expect([call.status, call.headers.get('RateLimit')]).toEqual([200, expect.stringMatching(/^"key";r=0;/)]);
    expect((await api.postNote(key)).status).toBe(429);
    expect((await post(api, key, 'tools/list')).status).toBe(429);
    const refused = await post(api, key, 'tools/call', unknownTicket);
    expect([refused.status, refused.headers.get('RateLimit')]).toEqual([200, expect.stringMatching(/^"key";r=0;/)]);
  });
});

describe('a call over the limit of the key', () => {
  const limited = async (scopes?: Scope[]) => {
    const organization = await makeOrganization();
    const { value: key, id } = await makeKey(organization, scopes && { scopes });
    const api = makeMcpApi(limitedTo(1));
    await post(api, key, 'tools/list');
    return { organization, key, id, api };
  };

  test('the call gets a result with the time to wait, and writes nothing', async () => {
    const { organization, key, api } = await limited();
    const result = await resultOf(api, key, 'add_internal_note', NOTE_ARGUMENTS);
    expect(result).toMatchObject({
      isError: true,
      structuredContent: {
        code: 'rate_limited',
        message: expect.stringMatching(
          /^This key may send 1 request in any 10 seconds; wait \d+ s\. Nothing was written\. After that, call again with the same idempotencyKey\.$/,
        ),
        'violated-policies': ['key'],
        retryAfterSeconds: expect.any(Number),
      },
    });
    expect(Number(result.structuredContent['retryAfterSeconds'])).toBeGreaterThan(0);
    expect(await rowsOf('notes', organization)).toEqual([]);
  });

  test('the call gets the 429 if its message is wrong, and the 401 if the key lacks the scope or is revoked', async () => {
    const { organization, key, id, api } = await limited(['tickets:note:write']);
    const { body, headers } = message('tools/call', NOTE_CALL);
    expect((await api.post('/mcp', key, body, { ...headers, 'Mcp-Name': 'log_time' })).status).toBe(429);
    expect((await post(api, key, 'tools/call', { name: 'log_time', arguments: {} })).status).toBe(401);
    await revoke(organization, id);
    expect((await post(api, key, 'tools/call', NOTE_CALL)).status).toBe(401);
  });
});

test("the log contains one line for a call, with the error's code, and nothing of its arguments", async () => {
  const { key } = await makeWorld();
  const call = { name: 'add_internal_note', arguments: { ...NOTE_ARGUMENTS, ticketId: 'no-such-ticket' } };
  loggedLines('request');
  await post(makeMcpApi(), key, 'tools/call', call);
  const lines = loggedLines('request');
  expect(lines).toMatchObject([
    { route: '/api/v1/tickets/:ticketId/notes', status: 404, problem: 'ticket_not_found', d1Calls: 3 },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/no-such-ticket|spooler/);
});

describe('a revoked key that is still cached gets the 401', () => {
  const call = message('tools/call', NOTE_CALL);
  test.each<[string, { body: object; headers: Record<string, string> }]>([
    ['a write', call],
    ['wrong arguments', message('tools/call', { name: 'add_internal_note', arguments: {} })],
    ['the list of tools', message('tools/list')],
    ['an unknown method', message('resources/list')],
    ['the tool of another scope', message('tools/call', { name: 'log_time', arguments: {} })],
    ['a call whose headers name another tool', { ...call, headers: { ...call.headers, 'Mcp-Name': 'log_time' } }],
    ['a call without an id', { ...call, body: { ...call.body, id: undefined } }],
    ['a call of an unknown revision', { ...call, headers: { ...call.headers, 'MCP-Protocol-Version': '2099-01-01' } }],
  ])('for %s', async (_, { body, headers }) => {
    const { organization, key, keyId } = await makeWorld();
    const api = makeMcpApi();
    const send = () => api.post('/mcp', key, body, headers);
    expect((await resultOf(api, key, 'add_internal_note', NOTE_ARGUMENTS)).isError).toBeUndefined();
    expect((await send()).status).not.toBe(401);
    expect((await resultOf(api, key, 'add_internal_note', NOTE_ARGUMENTS)).isError).toBeUndefined();
    await revoke(organization, keyId);
    expect((await send()).status).toBe(401);
    expect(await rowsOf('notes', organization)).toHaveLength(1);
  });
});

const messages: { body: unknown; headers: Record<string, string> }[] = [
  message('tools/call', NOTE_CALL),
  message('tools/list'),
  message('server/discover'),
  message('subscriptions/listen', { notifications: {} }),
  { body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: NOTE_CALL }, headers: LEGACY },
  { body: { jsonrpc: '2.0', method: 'notifications/initialized' }, headers: LEGACY },
  { body: { jsonrpc: '2.0', id: 'x', method: 'initialize', params: {} }, headers: LEGACY },
];
/** A message with at most one change, or any other body. */
const hostile = fc.constantFrom(...messages).chain(({ body, headers }) => {
  const noise = fc.oneof(fc.json(), anyText, fc.uint8Array(), fc.constant(' '.repeat(600_000)));
  const json = changedJson(body, ['tools/list', 'ping', 'resources/read', 'log_time', '1002']).map((one) =>
    JSON.stringify(one),
  );
  const sent = fc.oneof({ weight: 4, arbitrary: json }, { weight: 1, arbitrary: noise });
  return fc.record({ sent, headers: fc.constant(headers) });
});
const otherHeaders: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('Accept', 'Content-Type', 'MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name', 'Mcp-Session-Id'),
        fc.oneof(headerValue, fc.constantFrom('2025-06-18', '2026-07-28', 'text/html', 'log_time')),
      )
      .map(([name, value]) => ({ [name]: value })),
  },
);

test('every hostile message gets a defined response, and only a valid call writes', async () => {
  const { organization, key } = await makeWorld();
  const api = makeMcpApi({ config: UNLIMITED });
  const outcomes = new Tally();
  await fc.assert(
    fc.asyncProperty(hostile, otherHeaders, async ({ sent, headers }, others) => {
      const response = await api.post('/mcp', key, sent, { ...headers, ...others });
      const { status } = response;
      const text = await response.text();
      outcomes.add(status);
      expect([200, 202, 400, 404, 406, 413, 415]).toContain(status);
      expect(response.headers.get('Cache-Control')).toMatch(/^no-/);
      if (status === 202) expect(text).toBe('');
      else if (!response.headers.get('Content-Type')?.startsWith('text/event-stream')) JSON.parse(text);
    }),
    { numRuns: runs('hostile MCP messages', inLongRuns(250, 125)) },
  );
  outcomes.print('hostile MCP messages');
  expect(outcomes.of(200)).toBeGreaterThan(10);
  const keys = (await rowsOf('notes', organization)).map((row) => row['id']);
  expect(await rowsOf('audit_log', organization)).toHaveLength(keys.length + 1);
  expect(await rowsOf('time_entries', organization)).toEqual([]);
});
