import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { aroundD1, countD1 } from '../support/d1.ts';
import { countLimiters } from '../support/limiter.ts';
import { readStatic } from '../support/static-files.ts';
import { makeApi, makeKey, makeOrganization, NOTE, rowsOf } from '../support/world.ts';

const REQUESTS: [method: string, path: string][] = [
  ['GET', '/api/v1/ping'],
  ['POST', '/api/v1/tickets/1001/notes'],
  ['POST', '/api/v1/tickets/1001/time-entries'],
  ['DELETE', '/api/v1/ping'],
  ['GET', '/api/v1/nowhere'],
  ['GET', '/api'],
];

describe('over plain HTTP', () => {
  test.each(REQUESTS)('%s %s is refused before anything is counted or looked up', async (method, path) => {
    const organization = await makeOrganization();
    const { value: key } = await makeKey(organization);
    const d1 = countD1(env.DB);
    const limiters = countLimiters(env.RATE_LIMITER);
    const bindings = { DB: d1.db, RATE_LIMITER: limiters.namespace };
    for (const origin of ['http://tickets.example', 'http://tickets.example:8080', 'http://192.0.2.7']) {
      const api = makeApi({ bindings, origin });
      for (const bearer of [key, 'not-a-key', undefined]) {
        const response = await api.send(path, {
          method,
          ...(bearer !== undefined && { key: bearer }),
          ...(method === 'POST' && { body: JSON.stringify(NOTE), headers: { 'Content-Type': 'application/json' } }),
        });
        expect([origin, response.status]).toEqual([origin, 403]);
        expect(response.headers.get('Content-Type')).toBe('application/problem+json');
        expect(response.headers.get('Location')).toBeNull();
        expect(response.headers.get('RateLimit')).toBeNull();
        expect(await response.json()).toEqual({
          type: `${origin}/docs/errors#https_required`,
          title: 'HTTPS is required',
          status: 403,
          code: 'https_required',
          detail:
            'This API is served over HTTPS only. Change http:// to https://, and replace the key if the request had one.',
          requestId: response.headers.get('X-Request-Id'),
        });
      }
      await api.settled();
    }
    expect(d1.calls).toEqual([]);
    expect(limiters.names).toEqual([]);
    expect(await rowsOf('notes', organization)).toEqual([]);
  });

  test('a paused service also refuses plain HTTP', async () => {
    const api = makeApi({ config: { mode: 'paused' }, origin: 'http://tickets.example' });
    expect((await api.send('/api/v1/ping')).status).toBe(403);
  });

  test.each([
    'http://localhost',
    'http://localhost:8787',
    'http://tickets.localhost',
    'http://127.0.0.1:8787',
    'http://127.8.9.10',
    'http://[::1]:8787',
  ])('%s is served, because it does not leave the machine', async (origin) => {
    const { value: key } = await makeKey(await makeOrganization());
    expect((await makeApi({ origin }).send('/api/v1/ping', { key })).status).toBe(200);
  });

  test.each([
    'http://localhost.example',
    'http://notlocalhost',
    'http://127.0.0.1.example',
    'http://128.0.0.1',
    'http://10.0.0.1',
    'http://[::2]',
    'http://[::ffff:127.0.0.1]',
  ])('%s is refused', async (origin) => {
    const { value: key } = await makeKey(await makeOrganization());
    expect((await makeApi({ origin }).send('/api/v1/ping', { key })).status).toBe(403);
  });

  test('a local run serves other machines', async () => {
    const { value: key } = await makeKey(await makeOrganization());
    const api = makeApi({ config: { allowPlainHttp: true }, origin: 'http://192.0.2.7:8787' });
    expect((await api.send('/api/v1/ping', { key })).status).toBe(200);
  });

  test('/healthz is served', async () => {
    expect((await makeApi({ origin: 'http://tickets.example' }).send('/healthz')).status).toBe(200);
  });
});

test('every response has HSTS for a year, once', async () => {
  const organization = await makeOrganization();
  const { value: key } = await makeKey(organization);
  const api = makeApi();
  const plain = makeApi({ origin: 'http://tickets.example' });
  const DB = aroundD1(env.DB, () => Promise.reject(new Error('D1_ERROR: no such table: SQLITE_ERROR')));
  const broken = makeApi({ bindings: { DB } });
  const responses = [
    await api.send('/api/v1/ping', { key }),
    await api.postNote(key),
    await api.send('/api/v1/ping'),
    await api.send('/api/v1/nowhere', { key }),
    await readStatic('/api/v1/openapi.json'),
    await plain.send('/api/v1/ping', { key }),
    await broken.send('/api/v1/ping', { key }),
    await api.send('/healthz'),
    await readStatic('/'),
    await readStatic('/docs'),
    await readStatic('/docs/errors'),
    await api.send('/docs/recipes/nowhere'),
    await api.send('/settings'),
    await api.send(`/settings/${organization}/keys`),
    await api.send('/nowhere'),
  ];
  expect(responses.map(({ status }) => status)).toEqual([
    200, 201, 401, 404, 200, 403, 500, 200, 200, 200, 200, 404, 503, 503, 404,
  ]);
  for (const { headers } of responses) expect(headers.get('Strict-Transport-Security')).toBe('max-age=31536000');
});
