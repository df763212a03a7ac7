import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { generateKey } from '../../../src/domain/api-key.ts';
import { countLimiters } from '../../support/limiter.ts';
import { makeApi, makeWorld, rowsOf, UNLIMITED } from '../../support/world.ts';

describe('headers', async () => {
  const { organization, key } = await makeWorld();
  const api = makeApi({ config: UNLIMITED });
  const note = (headers: Record<string, string>) => api.postNote(key, { message: 'a' }, headers);

  test.each([
    ['a percent-encoded key', `Bearer ${key.replace('_', '%5F')}`],
    ['100,000 spaces and no key', `Bearer ${' '.repeat(100_000)}x`],
    ['a value of 64 KiB', `Bearer twb_${'a'.repeat(65_536)}`],
  ])('Authorization with %s returns 401', async (_, Authorization) => {
    expect((await note({ Authorization })).status).toBe(401);
  });

  test.each(['x'.repeat(255), `"${'y'.repeat(255)}"`, 'a,b', '__proto__', '%00', "';--", '../..', '{"a":1}'])(
    'an Idempotency-Key %s creates one note and one replay',
    async (value) => {
      const answers = [await note({ 'Idempotency-Key': value }), await note({ 'Idempotency-Key': value })];
      expect(answers.map(({ status }) => status)).toEqual([201, 200]);
    },
  );

  test.each([
    ['application/json', 201],
    ['APPLICATION/JSON; Charset="UTF-8"', 201],
    ['application/json ;charset=utf-8;', 201],
    ['application/json;odata.metadata=minimal', 201],
    ['application/json; charset=utf-16', 415],
    ['application/json; charset =utf-16', 415],
    ['application/json; charset=utf-8; charset=utf-16', 415],
    ['application/json; charset=', 415],
    ['application/json, application/json', 415],
    ['application/json/x', 415],
    ['application/jsonp', 415],
    ['application/problem+json', 415],
    ['text/json', 415],
    ['multipart/form-data; boundary=x', 415],
    ['*/*', 415],
  ])('Content-Type %s returns %i', async (type, status) => {
    expect((await note({ 'Content-Type': type })).status).toBe(status);
  });

  test('a Content-Type of 64 KiB is read like any other, and repeated in part', async () => {
    expect((await note({ 'Content-Type': `application/json; x=${'y'.repeat(65_536)}` })).status).toBe(201);
    const response = await note({ 'Content-Type': 'y'.repeat(65_536) });
    expect(response.status).toBe(415);
    expect((await response.text()).length).toBeLessThan(1_000);
  });

  test('only CF-Connecting-IP is used as the source address, and requests without a valid one share a limit', async () => {
    const limiters = countLimiters(env.RATE_LIMITER);
    const api = makeApi({ config: UNLIMITED, bindings: { RATE_LIMITER: limiters.namespace } });
    const group = async (headers: Record<string, string>) => {
      limiters.names.length = 0;
      expect((await api.send('/api/v1/ping', { headers })).status).toBe(401);
      return limiters.names.join();
    };
    const spoofed = {
      'X-Forwarded-For': '198.51.100.1',
      'X-Real-IP': '198.51.100.2',
      'True-Client-IP': '198.51.100.3',
      Forwarded: 'for=198.51.100.4',
      'X-Client-IP': '198.51.100.5',
      'CF-Connecting-IPv6': '2001:db8:ffff::1',
      'X-Cluster-Client-IP': '198.51.100.6',
    };
    expect(await group({ 'CF-Connecting-IP': '192.0.2.9', ...spoofed })).toBe('ip:192.0.2.9');
    // On Cloudflare the header is always present and set by the platform. All invalid values
    // count as one address.
    for (const garbage of [
      '',
      '192.0.2.1, 192.0.2.2',
      '192.0.2.256',
      '<script>',
      'x'.repeat(65_536),
      '192.0.2.1:80',
      '192.0.2.0/24',
    ]) {
      expect(await group({ 'CF-Connecting-IP': garbage, ...spoofed })).toBe('ip:none');
    }
    await api.postNote(key, { message: 'a' }, { 'CF-Connecting-IP': '192.0.2.9', ...spoofed });
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({ source_address: '192.0.2.9' });
  });

  test('no header changes the method or path of a request', async () => {
    const harmless: Record<string, string>[] = [
      { 'X-HTTP-Method-Override': 'DELETE' },
      { 'X-HTTP-Method': 'GET' },
      { 'X-Original-URL': '/api/v1/ping', 'X-Rewrite-URL': '/settings' },
      { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'http' },
      { Range: 'bytes=0-1', 'If-Range': '"x"' },
      { 'If-None-Match': '*' },
      { 'If-Match': '"x"' },
      { 'If-Modified-Since': 'Sat, 21 Nov 2099 00:00:00 GMT' },
      { Expect: '100-continue' },
      { TE: 'trailers', Trailer: 'Authorization' },
      { Upgrade: 'websocket', Connection: 'Upgrade' },
      { Accept: 'text/html', 'Accept-Encoding': 'x', 'Accept-Charset': 'utf-16', 'Accept-Language': '../../etc' },
      { Cookie: `Authorization=Bearer ${key}; ${'x'.repeat(65_536)}` },
      { 'X-Request-Id': 'mine', 'X-Organization-Id': 'org-2', 'X-Api-Key': generateKey('twb') },
      { 'Cf-Access-Jwt-Assertion': 'x.y.z' },
    ];
    for (const headers of harmless) {
      const response = await note(headers);
      expect([headers, response.status, response.headers.get('Content-Type')]).toEqual([
        headers,
        201,
        'application/json',
      ]);
      expect(response.headers.get('X-Request-Id')).not.toBe('mine');
    }
  });

  test('no response allows another origin, and a preflight is a request without a key', async () => {
    const foreign = {
      Origin: 'https://evil.example',
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization',
    };
    const path = '/api/v1/tickets/1001/notes';
    const answers = [
      await api.send(path, { method: 'OPTIONS', headers: foreign }),
      await note(foreign),
      await api.send('/api/v1/ping', { key, headers: foreign }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 201, 200]);
    for (const { headers } of answers)
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test('the first 100 characters of a User-Agent are kept', async () => {
    await note({ 'User-Agent': `<b>${'x'.repeat(65_536)}` });
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({ user_agent: `<b>${'x'.repeat(97)}` });
  });
});
