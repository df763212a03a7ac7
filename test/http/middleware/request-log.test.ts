import { env } from 'cloudflare:workers';
import { describe, expect, test, vi } from 'vitest';
import type { Config } from '../../../src/config.ts';
import { generateKey } from '../../../src/domain/api-key.ts';
import { aroundD1, countD1 } from '../../support/d1.ts';
import { aroundLimiters, countLimiters } from '../../support/limiter.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { makeSignIn } from '../../support/sign-in.ts';
import {
  changeOrganization,
  importRecords,
  makeApi,
  makeKey,
  makeOrganization,
  revoke,
  TIME,
} from '../../support/world.ts';

const NOTES = '/api/v1/tickets/:ticketId/notes';
const TIME_ENTRIES = '/api/v1/tickets/:ticketId/time-entries';
const hour = 3_600_000;

async function world() {
  const organization = await makeOrganization();
  const { value: key, id: keyId } = await makeKey(organization);
  loggedLines('request');
  return { organization, key, keyId, api: makeApi() };
}

/** The one line that a request wrote. */
async function lineOf(request: Promise<Response>) {
  loggedLines('request');
  const response = await request;
  const lines = loggedLines('request');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ requestId: response.headers.get('X-Request-Id'), status: response.status });
  return lines[0] ?? {};
}

describe('the line of a request', () => {
  test('the line shows the caller, the route, the status and the cost', async () => {
    const { organization, key, keyId, api } = await world();
    const headers = { 'User-Agent': 'n8n/2.1', 'CF-Connecting-IP': '2001:db8:1:2:3::4' };
    const line = await lineOf(api.postTime(key, TIME, headers));
    expect(line).toEqual({
      event: 'request',
      requestId: expect.any(String),
      method: 'POST',
      route: TIME_ENTRIES,
      status: 201,
      key: keyId,
      lookup: 'cold',
      organization,
      address: '2001:db8:1:2::/64',
      userAgent: 'n8n/2.1',
      ms: expect.any(Number),
      d1Calls: 2,
      limiterCalls: 2,
    });
  });

  test("the line contains a problem's code, and a 401's reason, but the response omits the reason", async () => {
    const { organization, key, keyId, api } = await world();
    expect(await lineOf(api.postNote(key, {}))).toMatchObject({
      status: 422,
      problem: 'validation_failed',
      key: keyId,
    });
    expect(await lineOf(api.postNote(key, undefined, {}, '9999'))).toMatchObject({
      status: 404,
      problem: 'ticket_not_found',
    });
    expect(await lineOf(api.send('/api/v1/ping', { key, method: 'DELETE' }))).toMatchObject({
      status: 405,
      problem: 'method_not_allowed',
      route: '/api/v1/*',
    });

    const [revoked, expired, unscoped] = [
      await makeKey(organization),
      await makeKey(organization, { expires: new Date(Date.now() + hour).toISOString() }),
      await makeKey(organization, { scopes: ['tickets:time:write'] }),
    ];
    await revoke(organization, revoked.id);
    const later = makeApi({ now: () => Date.now() + hour });
    const why = async (request: Promise<Response>) => {
      const { status, reason, key, organization, problem } = await lineOf(request);
      return [status, reason, key, organization, problem];
    };
    const nobody = [undefined, undefined, undefined];
    const of = (id: string) => [id, organization, undefined];
    expect(await why(api.send('/api/v1/ping'))).toEqual([401, 'missing', ...nobody]);
    expect(await why(api.send('/api/v1/ping', { key: 'twb_1' }))).toEqual([401, 'malformed', ...nobody]);
    expect(await why(api.send('/api/v1/ping', { key: generateKey('twb') }))).toEqual([401, 'unknown', ...nobody]);
    expect(await why(api.send('/api/v1/ping', { key: revoked.value }))).toEqual([401, 'revoked', ...of(revoked.id)]);
    expect(await why(later.send('/api/v1/ping', { key: expired.value }))).toEqual([401, 'expired', ...of(expired.id)]);
    expect(await why(api.postNote(unscoped.value))).toEqual([401, 'scope_missing', ...of(unscoped.id)]);

    // A cached key that was revoked: the 401 comes before the error in the body.
    expect((await api.postNote(key)).status).toBe(201);
    await revoke(organization, keyId);
    expect(await why(api.postNote(key, {}))).toEqual([401, 'revoked', ...of(keyId)]);
    await changeOrganization(organization, { active: false });
    expect(await why(api.send('/api/v1/ping', { key: unscoped.value }))).toEqual([
      401,
      'organization_inactive',
      ...of(unscoped.id),
    ]);
  });

  test('the line counts the calls to D1 and to limiters', async () => {
    const { organization } = await world();
    const { db, calls } = countD1(env.DB);
    const { namespace, names } = countLimiters(env.RATE_LIMITER);
    const counting = (settings: Partial<Config> = {}) =>
      makeApi({ config: settings, bindings: { DB: db, RATE_LIMITER: namespace } });
    const [api, limited] = [counting(), counting({ ipLimit: { quota: 1, windowMs: 10_000 } })];
    const { value: key } = await makeKey(organization);
    const headers = { 'Idempotency-Key': 'once' };

    const cost = async (request: () => Promise<Response>) => {
      calls.length = 0;
      names.length = 0;
      const { status, lookup, d1Calls, limiterCalls } = await lineOf(request());
      expect([d1Calls, limiterCalls]).toEqual([calls.length, names.length]);
      return [status, lookup, d1Calls, limiterCalls];
    };
    expect(await cost(() => api.postTime(key, TIME, headers))).toEqual([201, 'cold', 2, 2]);
    expect(await cost(() => api.postTime(key))).toEqual([201, 'warm', 1, 2]);
    expect(await cost(() => api.postTime(key, TIME, headers))).toEqual([200, 'warm', 2, 2]);
    expect(await cost(() => api.postTime(key, {}))).toEqual([422, 'warm', 1, 2]);
    expect(await cost(() => api.send('/api/v1/ping', { key }))).toEqual([200, 'cold', 1, 2]);
    expect(await cost(() => api.send('/api/v1/ping', { key: generateKey('twb') }))).toEqual([401, 'cold', 1, 1]);
    expect(await cost(() => api.send('/api/v1/ping'))).toEqual([401, undefined, 0, 1]);
    expect(await cost(() => limited.send('/api/v1/ping'))).toEqual([401, undefined, 0, 1]);
    expect(await cost(() => limited.send('/api/v1/ping'))).toEqual([429, undefined, 0, 1]);
    expect(await cost(() => limited.send('/api/v1/ping'))).toEqual([429, undefined, 0, 0]);
  });

  test('the line counts failed attempts', async () => {
    const { key } = await world();
    const DB = aroundD1(env.DB, () => Promise.reject(new Error('D1_ERROR: Network connection lost.')));
    const RATE_LIMITER = aroundLimiters(env.RATE_LIMITER, () => Promise.reject(new Error('Network connection lost.')));
    expect(await lineOf(makeApi({ bindings: { DB, RATE_LIMITER } }).send('/api/v1/ping', { key }))).toMatchObject({
      status: 503,
      d1Calls: 3,
      limiterCalls: 2,
    });
  });

  test("the line contains the route's pattern, never the path", async () => {
    const { organization, key, api } = await world();
    const typed = generateKey('twb');
    const route = async (path: string, init: Parameters<typeof api.send>[1] = { key }) =>
      (await lineOf(api.send(path, init)))['route'];
    expect(await route(`/api/v1/tickets/${typed}/notes`, { key, method: 'POST', body: '{}' })).toBe(NOTES);
    expect(await route(`/api/v1/tickets/${typed}/notes?key=${typed}`, { method: 'POST' })).toBe(NOTES);
    expect(await route('/api/v1/ping', { key, method: 'HEAD' })).toBe('/api/v1/ping');
    expect(await route('/healthz')).toBe('/healthz');
    expect(await route(`/api/v1/${typed}`)).toBe('/api/v1/*');
    expect(await route(`/api/${typed}`)).toBe('/api/*');
    expect(await route(`/${typed}`)).toBe('/*');
    expect(await route(`/docs/recipes/${typed}`)).toBe('/*');
    expect(await route(`/settings/${organization}/new-key`)).toBe('/settings/:organization/new-key');
    expect(await route(`/settings/${organization}/keys/${typed}`)).toBe('/settings/:organization/keys/:key');
    expect(await route(`/settings/${organization}/${typed}`)).toMatch(/^\/settings\/[:\w/*]+$/);
  });

  test('a settings page logs its administrator', async () => {
    const { organization } = await world();
    const { config: signIn, token } = await makeSignIn();
    const email = `ada@${organization}.example`;
    await importRecords({ type: 'user', organization, id: 'ada', email, name: 'Ada', admin: true });
    const api = makeApi({ config: { signIn } });
    const headers = { 'Cf-Access-Jwt-Assertion': await token(email) };
    const line = await lineOf(api.send(`/settings/${organization}/keys`, { headers }));
    expect(line).toMatchObject({
      route: '/settings/:organization/keys',
      status: 200,
      administrator: 'ada',
      organization,
      d1Calls: 3,
      limiterCalls: 1,
    });
    expect(line).not.toHaveProperty('key');
    expect(await lineOf(api.send(`/settings/${organization}/keys`))).not.toHaveProperty('administrator');
  });

  test('a status from 500 on is an error with a second line for its cause, without the message of D1', async () => {
    const { key } = await world();
    const said =
      'D1_ERROR: near "x": syntax error in insert into "notes" values (\'a secret text\') at offset 3: SQLITE_ERROR';
    const DB = aroundD1(env.DB, (run, statements) => (statements > 1 ? Promise.reject(new Error(said)) : run()));
    const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const response = await makeApi({ bindings: { DB } }).postNote(key);
    const lines = errors.mock.calls.map(([line]) => JSON.parse(String(line)));
    vi.restoreAllMocks();
    expect(response.status).toBe(500);
    const requestId = response.headers.get('X-Request-Id');
    expect(lines).toEqual([
      { event: 'internal_error', requestId, cause: ['D1Failure: D1 rejected: SQLITE_ERROR'] },
      expect.objectContaining({ event: 'request', requestId, status: 500, problem: 'internal_error' }),
    ]);
  });

  test('an unexpected error is logged with its type and place, but not its message, because that may quote the request', async () => {
    const { key } = await world();
    let calls = 0;
    const now = () => (++calls > 1 ? JSON.parse('hunter2') : Date.now());
    const errors = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    expect((await makeApi({ now }).postNote(key)).status).toBe(500);
    const [line] = errors.mock.calls.flat();
    vi.restoreAllMocks();
    expect(JSON.parse(String(line))).toMatchObject({
      event: 'internal_error',
      cause: [expect.stringMatching(/^SyntaxError at .+authenticate/)],
    });
    expect(line).not.toContain('hunter2');
  });
});
