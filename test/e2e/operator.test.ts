import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { diagnose, type Finding } from '../../src/cli/diagnose.ts';
import { generateKey } from '../../src/domain/api-key.ts';
import { runCli } from '../support/command.ts';
import { type Meddling, serveEdge } from '../support/edge.ts';
import { freePort, keyIn, start, stop } from '../support/server.ts';

let service: { server: ChildProcess; url: string; key: string; persistTo: string };
beforeAll(async () => {
  const persistTo = await mkdtemp(join(tmpdir(), 'twb-'));
  const port = await freePort();
  const { server, output } = await start('--port', String(port), '--persist-to', persistTo);
  service = { server, url: `http://localhost:${port}`, key: keyIn(output), persistTo };
});
afterAll(async () => {
  await stop(service.server);
  await rm(service.persistTo, { recursive: true });
});

const ours = { 'X-Content-Type-Options': 'nosniff', 'X-Request-Id': crypto.randomUUID() };
const isApi = (path: string) => path.startsWith('/api/');

async function all(found: AsyncIterable<Finding>): Promise<Finding[]> {
  const list: Finding[] = [];
  for await (const finding of found) list.push(finding);
  return list;
}

/** Everything the doctor finds behind something that stands in front of the local service. */
async function findings(meddle: Meddling, key?: string): Promise<Record<string, Finding>> {
  const edge = await serveEdge(service.url, meddle);
  try {
    const found = await all(diagnose(new URL(edge.url), key));
    return Object.fromEntries(found.map((finding) => [finding.check, finding]));
  } finally {
    await edge.close();
  }
}

/** What is wrong behind it, by check. */
async function failures(meddle: Meddling, key?: string): Promise<Record<string, string>> {
  const found = Object.values(await findings(meddle, key)).filter(({ ok }) => !ok);
  return Object.fromEntries(found.map(({ check, says }) => [check, says]));
}

/** Changes the headers of what passes. */
function changing(change: (headers: Headers) => void, where = isApi): Meddling {
  return async ({ path }, pass) => {
    const answer = await pass();
    const headers = new Headers(answer.headers);
    if (where(path)) change(headers);
    return new Response(answer.body, { status: answer.status, headers });
  };
}

const html = (status: number, title: string, headers: Record<string, string> = {}) =>
  new Response(`<!doctype html><title>${title}</title>`, {
    status,
    headers: { 'Content-Type': 'text/html', Server: 'cloudflare', ...headers },
  });
const accessLogin = () =>
  new Response(null, {
    status: 302,
    headers: { Location: 'https://team.cloudflareaccess.com/cdn-cgi/access/login/tickets.example?kid=1&meta=2' },
  });

const POST = 'a POST without a key';
const AGENTS = 'the User-Agents of automations';

describe('the doctor', () => {
  test('finds nothing wrong with the service itself, and says what the key may do without showing it', async () => {
    const [plain, keyed] = [
      await runCli('doctor', [service.url]),
      await runCli('doctor', [service.url, '--key-stdin'], { input: [`${service.key}\n`] }),
    ];
    expect(plain).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/\n\nAll is well\.\n$/) });
    expect(plain.stdout.trim().split('\n').slice(0, -2)).toEqual(Array(9).fill(expect.stringMatching(/^ok {4}/)));
    expect(plain.stdout).toContain('/settings: leads to a sign-in: /dev/sign-in');
    expect(keyed).toMatchObject({ code: 0, stderr: '' });
    expect(keyed.stdout).toContain(
      'ok    ping with the key: 200, organization northwind, tickets:note:write and tickets:time:write',
    );
    expect(keyed.stdout).not.toContain(service.key.slice(4, 20));
  });

  test('names what answers in place of the API', async () => {
    const inFront = (answer: () => Response) => failures(({ path }, pass) => (isApi(path) ? answer() : pass()));
    expect((await inFront(accessLogin))[POST]).toBe(
      'Cloudflare Access answers with its sign-in (302 to https://team.cloudflareaccess.com/cdn-cgi/access/login/tickets.example). Automations cannot sign in: let its application cover /settings only.',
    );
    const challenge = await inFront(() => html(403, 'Just a moment...', { 'cf-mitigated': 'challenge' }));
    expect(Object.keys(challenge)).toEqual([POST, '/api/v1/openapi.json']);
    expect(challenge[POST]).toMatch(/^Cloudflare answers with a challenge \(403\)/);
    expect((await inFront(() => html(200, 'Welcome to nginx!', { Server: 'nginx' })))[POST]).toMatch(
      /^it answers 200, an HTML page \("Welcome to nginx!"\), by nginx\./,
    );
    expect((await inFront(() => Response.json({ error: 'unauthorized' }, { status: 401 })))[POST]).toMatch(
      /^a 401 that is not ours/,
    );
    expect(
      (await inFront(() => new Response(null, { status: 301, headers: { Location: 'https://www.example/?key=x' } })))[
        POST
      ],
    ).toMatch(/^a redirect \(301 to https:\/\/www\.example\/\)/);
    expect((await inFront(() => new Response('error code: 1020', { status: 403 })))[POST]).toMatch(
      /error 1020: a firewall rule/,
    );
  });

  test('finds protection that goes by the User-Agent, or by the text of a note', async () => {
    const byAgent = await failures(({ headers, path }, pass) =>
      isApi(path) && /python/.test(headers.get('User-Agent') ?? '')
        ? new Response('error code: 1010', { status: 403 })
        : pass(),
    );
    expect(byAgent).toEqual({
      [AGENTS]: expect.stringMatching(/^Python: Cloudflare answers 403, error 1010: the browser integrity check/),
    });
    const byText = await failures(({ body }, pass) =>
      body.includes('<script>') ? html(403, 'Attention Required!') : pass(),
    );
    expect(Object.keys(byText)).toEqual(['a note that quotes an attack']);
  });

  test.each<[string, string, Meddling]>([
    [POST, 'Set-Cookie (__cf_bm)', changing((headers) => headers.append('Set-Cookie', '__cf_bm=secret; Path=/'))],
    [POST, 'www-authenticate is missing instead of Bearer', changing((headers) => headers.delete('WWW-Authenticate'))],
    [
      POST,
      'cache-control is max-age=60 instead of no-store',
      changing((headers) => headers.set('Cache-Control', 'max-age=60')),
    ],
    [POST, 'ratelimit came with the 401', changing((headers) => headers.set('RateLimit', '"ip";r=1;t=1'))],
    [POST, 'X-Request-Id is missing', changing((headers) => headers.delete('X-Request-Id'))],
  ])('%s: %s', async (check, says, meddle) => {
    expect((await failures(meddle))[check]).toContain(says);
  });

  test('finds a proxy that tells wrong keys apart, keeps the caller’s request id, or believes X-Forwarded-For', async () => {
    const marked: Meddling = async (incoming, pass) =>
      changing((headers) => incoming.headers.has('Authorization') && headers.set('X-Cache', 'MISS'))(incoming, pass);
    expect(await failures(marked)).toEqual({
      'wrong keys': expect.stringMatching(/^a malformed key is told apart by its headers: .*x-cache/),
    });
    const echoing: Meddling = (incoming, pass) => {
      const id = incoming.headers.get('X-Request-Id');
      return changing((headers) => id !== null && headers.set('X-Request-Id', id))(incoming, pass);
    };
    expect(await failures(echoing)).toEqual({
      'headers that callers make up': expect.stringContaining('X-Request-Id of the caller'),
    });
    expect(
      await failures(({ headers }, pass) => (headers.has('X-Forwarded-For') ? html(403, 'Forbidden') : pass())),
    ).toEqual({
      'headers that callers make up': expect.stringContaining('X-Forwarded-For'),
    });
  });

  test('tells a guarded settings area from an open one', async () => {
    const settings = async (meddle: Meddling) =>
      (
        await findings(({ ...incoming }, pass) =>
          incoming.path.startsWith('/settings') ? meddle(incoming, pass) : pass(),
        )
      )['/settings'];
    const page = (status: number) => new Response('', { status, headers: { ...ours, ...pageHeaders } });
    const pageHeaders = {
      'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
      'X-Frame-Options': 'DENY',
      'Strict-Transport-Security': 'max-age=15552000',
    };
    expect(await settings(accessLogin)).toMatchObject({ ok: true, says: 'guarded by Cloudflare Access' });
    expect(await settings(() => page(401))).toMatchObject({
      ok: true,
      says: expect.stringContaining('guarded by the service (401)'),
    });
    expect(await settings(() => page(503))).toMatchObject({
      ok: true,
      says: expect.stringContaining('nobody can sign in'),
    });
    expect(await settings(() => html(200, 'API keys'))).toMatchObject({
      ok: false,
      says: expect.stringContaining('open without a sign-in (200)'),
    });
    const onward = () => new Response(null, { status: 303, headers: { Location: '/settings/northwind/keys' } });
    expect(await settings(onward)).toMatchObject({
      ok: false,
      says: expect.stringContaining('open without a sign-in (303)'),
    });
    const gullible: Meddling = ({ headers }) => page(headers.has('Cf-Access-Jwt-Assertion') ? 404 : 401);
    expect(await settings(gullible)).toMatchObject({
      ok: false,
      says: expect.stringContaining('a forged token is believed'),
    });
    const framed = () =>
      new Response('', { status: 401, headers: { ...ours, ...pageHeaders, 'X-Frame-Options': 'SAMEORIGIN' } });
    expect(await settings(framed)).toMatchObject({
      ok: false,
      says: expect.stringContaining('x-frame-options lacks DENY'),
    });
    expect(await settings(() => html(502, 'Bad gateway'))).toMatchObject({
      ok: false,
      says: expect.stringContaining('it answers 502'),
    });
  });

  test('says of a paused service only that, and of a bad key what it may be', async () => {
    const paused = ({ path }: { path: string }, pass: () => Promise<Response>) =>
      path === '/healthz'
        ? Response.json({ status: 'paused' }, { headers: ours })
        : isApi(path) && path !== '/api/v1/openapi.json'
          ? new Response('', { status: 503 })
          : pass();
    expect(await failures(paused, service.key)).toEqual({
      '/healthz': expect.stringMatching(/^paused: the API answers 503/),
    });
    expect(await failures((_, pass) => pass(), generateKey('twb'))).toEqual({
      'ping with the key':
        '401: the key is unknown here, revoked, expired or blocked, or its organization is inactive.',
    });
  });

  test('wants https, but for loopback', async () => {
    const https = async (plain: () => Response) => {
      const send: typeof fetch = async (input, init) => {
        const url = new URL(String(input));
        if (url.protocol === 'http:') return plain();
        return fetch(service.url + url.pathname, init);
      };
      const found = await all(diagnose(new URL('http://tickets.example'), undefined, send));
      expect(found.slice(1).every(({ ok }) => ok)).toBe(true);
      return found[0];
    };
    const to = (location: string) => new Response(null, { status: 301, headers: { Location: location } });
    expect(await https(() => to('https://tickets.example/api/v1/ping'))).toMatchObject({
      ok: true,
      says: 'plain http is sent on to https',
    });
    expect(await https(() => to('https://other.example/'))).toMatchObject({ ok: false });
    expect(await https(() => new Response('', { status: 401 }))).toMatchObject({
      ok: false,
      says: expect.stringContaining('Always Use HTTPS'),
    });
    const refused = () => {
      throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) });
    };
    expect(await https(refused)).toMatchObject({ ok: true, says: 'plain http is not answered' });
  });

  test('says why it got no answer', async () => {
    const broken = async (failure: Error) => {
      const send = () => Promise.reject(failure);
      const found = await all(diagnose(new URL('https://tickets.example'), undefined, send));
      // The plain address is asked too, and should not answer.
      expect(found).toMatchObject([
        { ok: true, check: 'https' },
        { ok: false, check: '/healthz' },
      ]);
      return found[1]?.says;
    };
    const failed = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
    expect(await broken(failed('ENOTFOUND'))).toMatch(/^tickets\.example has no address \(ENOTFOUND\)/);
    expect(await broken(failed('CERT_HAS_EXPIRED'))).toMatch(
      /^the TLS connection to tickets\.example failed \(CERT_HAS_EXPIRED\)/,
    );
    expect(await broken(failed('ERR_TLS_CERT_ALTNAME_INVALID'))).toMatch(/another name/);
    expect(await broken(new DOMException('', 'TimeoutError'))).toBe('tickets.example gave no answer within 10 s.');
    const host = `localhost:${await freePort()}`;
    expect(await runCli('doctor', [`http://${host}`])).toEqual({
      code: 1,
      stdout: `FAIL  /healthz: nothing listens at ${host}. Check the port, or start the server.\n\n1 failed.\n`,
      stderr: '',
    });
    for (const wrong of [
      [],
      ['tickets.example'],
      ['https://tickets.example/api/v1'],
      ['https://a.example', 'https://b.example'],
    ]) {
      expect(await runCli('doctor', wrong)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('Usage: npm run ops -- doctor https://HOST'),
      });
    }
  });
});

test('a key revoked by the command is refused by the running service at its next request', async () => {
  const ping = async () =>
    (await fetch(`${service.url}/api/v1/ping`, { headers: { Authorization: `Bearer ${service.key}` } })).status;
  expect(await ping()).toBe(200);
  const revoked = await runCli('key:revoke', ['--by', 'Ada', '--persist-to', service.persistTo], {
    input: [service.key],
  });
  expect(revoked).toMatchObject({ code: 0, stderr: '' });
  expect(await ping()).toBe(401);
});
