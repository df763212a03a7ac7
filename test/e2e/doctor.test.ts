import { createServer } from 'node:http';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { generateKey } from '../../src/domain/api-key.ts';
import { diagnose } from '../../src/ops/diagnose.ts';
import type { Finding } from '../../src/ops/probe.ts';
import { listen } from '../support/listen.ts';
import { type Intercept, serveProxy } from '../support/proxy.ts';
import { runCli } from '../support/run-cli.ts';
import { freePort } from '../support/server.ts';
import { sharedServer } from '../support/shared.ts';

let service: Awaited<ReturnType<typeof sharedServer>>;
beforeAll(async () => {
  service = await sharedServer();
});

const REQUEST_ID = crypto.randomUUID();
/** The headers of every response of the service. */
const ours = { 'X-Content-Type-Options': 'nosniff', 'X-Request-Id': REQUEST_ID };
const isApi = (path: string) => path.startsWith('/api/');

async function all(found: AsyncIterable<Finding>): Promise<Finding[]> {
  const list: Finding[] = [];
  for await (const finding of found) list.push(finding);
  return list;
}

/** Serves the local service behind a proxy, for as long as `use` runs. */
async function behind<T>(intercept: Intercept, use: (url: string) => Promise<T>): Promise<T> {
  const proxy = await serveProxy(service.url, intercept);
  try {
    return await use(proxy.url);
  } finally {
    await proxy.close();
  }
}

type Diagnosis = Omit<Parameters<typeof diagnose>[0], 'url'>;
const findings = (intercept: Intercept, diagnosis: Diagnosis = {}) =>
  behind(intercept, (url) => all(diagnose({ url: new URL(url), ...diagnosis })));

/** The failed checks there, each as its name and what it says. */
async function failures(intercept: Intercept, diagnosis?: Diagnosis): Promise<[check: string, says: string][]> {
  return (await findings(intercept, diagnosis)).filter(({ ok }) => !ok).map(({ check, says }) => [check, says]);
}

/** A failed check whose name has this word, and that says this. */
const failed = (check: RegExp, says: RegExp) => [expect.stringMatching(check), expect.stringMatching(says)];

/** A proxy that responds to requests to the API itself. */
const inFront =
  (answer: () => Response): Intercept =>
  ({ path }, pass) =>
    isApi(path) ? answer() : pass();

const html = (status: number, title: string, headers: Record<string, string> = {}) =>
  new Response(`<!doctype html><title>${title}</title>`, {
    status,
    headers: { 'Content-Type': 'text/html', Server: 'cloudflare', ...headers },
  });
const pausedAnswer = () =>
  Response.json(
    { code: 'unavailable', detail: 'The service is paused by its operator.' },
    { status: 503, headers: ours },
  );
const redirect = (status: number, to: string) => new Response(null, { status, headers: { Location: to } });
const accessLogin = () =>
  redirect(302, 'https://team.cloudflareaccess.com/cdn-cgi/access/login/tickets.example?kid=1&meta=2');

describe('the doctor', () => {
  test('finds no failure at the service itself', async () => {
    const { code, stdout, stderr } = await runCli('doctor', [service.url]);
    expect([code, stderr]).toEqual([0, '']);
    expect([...stdout.matchAll(/^(ok|FAIL) +(.*?): /gm)].map(([, result, check]) => [result, check])).toEqual(
      [
        ...['/healthz', 'a POST without a key', 'the User-Agents of automations'],
        ...['a note that quotes an attack', 'wrong keys', '/settings', '/psa', '/mcp'],
      ].map((check) => ['ok', check]),
    );
    expect(stdout).toContain('If neither ALERT_URL nor WEBHOOK_URL is set, none is sent');
    expect(stdout).toMatch(/\/settings: .*\/dev\/sign-in/);
  });

  test.each<[string, () => Response, RegExp]>([
    ['a challenge', () => html(403, 'Just a moment...', { 'cf-mitigated': 'challenge' }), /challenge.*403/],
    [
      'another web server',
      () => html(200, 'Welcome to nginx!', { Server: 'nginx' }),
      /200.*"Welcome to nginx!".*nginx/,
    ],
    ['another API', () => Response.json({ error: 'unauthorized' }, { status: 401 }), /401/],
    ['a redirect', () => redirect(301, 'https://www.example/?key=x'), /301.*https:\/\/www\.example\/\)/],
    ['a firewall', () => new Response('error code: 1020', { status: 403 }), /1020/],
  ])('recognizes %s in place of the API', async (_, answer, says) => {
    expect(await failures(inFront(answer))).toEqual([failed(/POST/, says)]);
  });

  test.each<[string, RegExp, RegExp, Intercept]>([
    [
      'protection that depends on the User-Agent',
      /User-Agent/,
      /Python.*403.*1010/,
      ({ headers, path }, pass) =>
        isApi(path) && /python/.test(headers.get('User-Agent') ?? '')
          ? new Response('error code: 1010', { status: 403 })
          : pass(),
    ],
    [
      'a gateway that answers malformed keys',
      /wrong keys/,
      /^a malformed key gets a different response: a 401 that is not from the service/,
      ({ headers }, pass) =>
        /_no$/.test(headers.get('Authorization') ?? '') ? Response.json({ status: 401 }, { status: 401 }) : pass(),
    ],
    [
      'Access in front of the API',
      /POST/,
      /^Cloudflare Access redirects .*302 to \S+cloudflareaccess\.com\/cdn-cgi\/access\/login\/tickets\.example\)/,
      inFront(accessLogin),
    ],
    [
      'a firewall that blocks a text',
      /a note that quotes an attack/,
      /a firewall blocks by the text/,
      ({ body }, pass) => (body.includes('<script>') ? new Response('', { status: 403 }) : pass()),
    ],
  ])('finds %s', async (_, check, says, intercept) => {
    expect(await failures(intercept, { key: service.key })).toContainEqual(failed(check, says));
  });

  describe('the settings area, as checked', () => {
    const page = (status: number) => new Response('', { status, headers: ours });
    const byToken: Intercept = ({ headers }) => page(headers.has('Cf-Access-Jwt-Assertion') ? 404 : 401);

    test.each<[string, boolean, RegExp, Intercept]>([
      ['by Cloudflare Access', true, /Cloudflare Access/, accessLogin],
      ['by the service', true, /401/, () => page(401)],
      ['by a service without sign-in', true, /503/, () => page(503)],
      ['not, with a redirect into it', false, /303/, () => redirect(303, '/settings/northwind/keys')],
      ['not against a forged token', false, /forged/, byToken],
      ['not at all', false, /^open without a sign-in \(200\)/, () => new Response('API keys')],
      ['but unreachable', false, /502/, () => html(502, 'Bad gateway')],
    ])('finds how the settings area is guarded: %s', async (_, ok, says, intercept) => {
      const found = await findings((incoming, pass) =>
        incoming.path.startsWith('/settings') ? intercept(incoming, pass) : pass(),
      );
      const settings = found.find(({ check }) => check.includes('/settings'));
      expect(settings).toMatchObject({ ok, says: expect.stringMatching(says) });
    });
  });

  test('reports nothing but the pause while a service is paused', async () => {
    const paused: Intercept = ({ path }, pass) => {
      if (path === '/healthz') return Response.json({ status: 'paused' }, { headers: ours });
      if (path === '/mcp') return pausedAnswer();
      return isApi(path) ? new Response('', { status: 503 }) : pass();
    };
    expect(await failures(paused, { key: service.key })).toEqual([failed(/healthz/, /paused.*503/)]);
  });

  describe('the check of the Worker for AI agents', () => {
    const atMcp =
      (answer: () => Response): Intercept =>
      ({ path }, pass) =>
        path === '/mcp' ? answer() : pass();
    const notFound = () => Response.json({ code: 'not_found', detail: 'x' }, { status: 404, headers: ours });

    test('the Worker may be missing', async () => {
      const found = await findings(atMcp(notFound), { key: service.key });
      expect(found.filter(({ check }) => check.startsWith('/mcp'))).toMatchObject([
        { ok: true, check: '/mcp' },
        { ok: true, check: '/mcp with the key' },
      ]);
    });

    test('a Worker that refuses a key that the API accepts is reported', async () => {
      const refused: Intercept = ({ path, headers }, pass) =>
        path === '/mcp' && headers.has('Authorization') ? new Response('', { status: 401 }) : pass();
      expect(await failures(refused, { key: service.key })).toEqual([
        failed(/mcp with the key/, /401.*another deployment.*address of its callers/),
      ]);
    });

    test('another service at its address is reported', async () => {
      expect(await failures(atMcp(() => html(403, 'Attention Required!')))).toEqual([failed(/mcp/, /Attention/)]);
    });
  });

  describe('the explanation of a missing response', () => {
    const failing = (code: string) =>
      new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
    test.each<[string, Error, RegExp]>([
      ['an unknown name', failing('ENOTFOUND'), /tickets\.example.*ENOTFOUND/],
      ['an expired certificate', failing('CERT_HAS_EXPIRED'), /tickets\.example.*CERT_HAS_EXPIRED/],
      ['a certificate for another name', failing('ERR_TLS_CERT_ALTNAME_INVALID'), /name/],
      ['a timeout', new DOMException('', 'TimeoutError'), /tickets\.example.*10 s/],
    ])('explains %s', async (_, failure, says) => {
      const send = () => Promise.reject(failure);
      // No response to plain http is as it should be.
      expect(await all(diagnose({ url: new URL('https://tickets.example'), send }))).toMatchObject([
        { ok: true, check: 'https' },
        { ok: false, check: '/healthz', says: expect.stringMatching(says) },
      ]);
    });

    test('explains a closed port', async () => {
      const host = `localhost:${await freePort()}`;
      const { code, stdout, stderr } = await runCli('doctor', [`http://${host}`]);
      expect([code, stderr]).toEqual([1, '']);
      expect(stdout).toMatch(new RegExp(`^FAIL .*${host}`));
    });
  });

  test('prints lines of JSON with request ids, and never the key', async () => {
    const { url, key } = service;
    const options = ['--key-stdin', '--ticket', '1001', '--json'];
    const { code, stdout, stderr } = await runCli('doctor', [url, ...options], { input: [`${key}\n`] });
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.find(({ check }) => check === 'note')).toEqual({
      ok: true,
      check: 'note',
      says: expect.stringMatching(/^201, wrote the note [\w-]+ on ticket 1001, Idempotency-Key doctor:/),
      requestId: expect.stringMatching(/^[\w-]{36}$/),
    });
    const { says } = lines.find(({ check }) => check === 'ping');
    expect(says).toMatch(/^200, organization northwind, tickets:note:write and tickets:time:write, /);
    expect(stdout).not.toContain(key.slice(4, 20));
  });

  test('escapes control and format characters of a hostile server, in text and in JSON', async () => {
    const hostile = createServer((_, response) => {
      response.writeHead(500, { 'Content-Type': 'text/html; charset=utf-8' });
      response.end('<title>csi \u009b31m nel \u0085 bidi \u202egnp</title>');
    });
    const url = await listen(hostile);
    onTestFinished(() => void hostile.close());
    for (const options of [[], ['--json']]) {
      const { stdout } = await runCli('doctor', [url, ...options]);
      expect(stdout).toContain('csi \\u009b31m nel \\u0085 bidi \\u202egnp');
      expect(stdout).not.toMatch(/[\u007f-\u009f\u202e]/);
    }
  });

  test('needs a key for a ticket, and ends with 1 if a check fails', async () => {
    const { url } = service;
    expect(await runCli('doctor', [url, '--ticket', '1001'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--ticket needs a key: add --key-stdin.'),
    });
    const wrong = await runCli('doctor', [url, '--key-stdin', '--ticket', '1001'], { input: [generateKey('twb')] });
    expect([wrong.code, wrong.stdout]).toEqual([1, expect.stringContaining('1 check failed.')]);
    // The request is found in the log by its id.
    expect(wrong.stdout).toMatch(/^FAIL {2}ping: .* \[[\w-]{36}\]$/m);
  });

  test('prints its usage after a wrong call', async () => {
    const calls = [
      [],
      ['tickets.example'],
      ['https://tickets.example/api/v1'],
      ['https://a.example', 'https://b.example'],
    ];
    for (const ran of await Promise.all(calls.map((args) => runCli('doctor', args))))
      expect(ran).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('Usage: npm run ops -- doctor [options] <https://HOST>'),
      });
  });
});
