import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { checkout, insteadOf, runScript } from '../support/checkout.ts';
import { MINIMAL, writeDeployments } from '../support/deployments.ts';

/** Runs `npm run deploy` in a directory with these variables. */
const deploy = (cwd: string, args: string[], env: Record<string, string>) =>
  runScript('deploy.ts', args, { cwd, env: { CLOUDFLARE_API_TOKEN: 'good', ...env } });

test('a wait that is not a number of minutes is refused', async () => {
  const { code, output } = await deploy('.', ['--wait', 'five'], await writeDeployments({ eu: {} }));
  expect([code, output]).toEqual([2, '--wait five is not a number of minutes. Write 0 to 1440.\n']);
});

/** The answers of Cloudflare's API that wrangler reads; it accepts an empty object for every other call. */
const ANSWERS: [RegExp, (request: { url: string; body: string }) => unknown][] = [
  [/^GET \/zones\?/, () => [{ id: 'zone', name: MINIMAL.zone }]],
  [/^GET .*\/(dns_records|domains|routes)\b/, () => []],
  [/^POST .*\/assets-upload-session$/, () => ({ jwt: 'e30.e30.x', buckets: [] })],
  [/^POST .*\/changeset/, () => ({ added: [], removed: [], updated: [], conflicting: [] })],
  [
    /^GET .*\/d1\/database\/[^/]+$/,
    () => ({ uuid: MINIMAL.database, name: 'ticket-write-back', version: 'production' }),
  ],
  [/^POST .*\/d1\/database\/.*\/query$/, () => [{ success: true, results: [], meta: { duration: 1 } }]],
  [
    /^PUT .*\/workers\/scripts\/[^/]+\?/,
    () => ({ id: 'id', tag: 'tag', deployment_id: 'd', startup_time_ms: 9, version: 'v' }),
  ],
  [/^GET .*\/workers\/workers\//, () => ({ id: 'tag', subdomain: { enabled: false, previews_enabled: false } })],
  [/^PUT .*\/(records|routes)/, ({ body }) => JSON.parse(body)],
];

test('wrangler deploys both rendered Workers, after the migrations', async () => {
  const calls: string[] = [];
  const uploads: Record<string, unknown> = {};
  const answer = async (request: IncomingMessage): Promise<[number, unknown]> => {
    const url = request.url ?? '';
    const body = await text(request);
    const call = `${request.method} ${url}`;
    calls.push(call.replace(`/accounts/${MINIMAL.account}`, '').replace(/\?.*/, ''));
    const [, metadata] = /name="metadata"[^{]*(\{.*\})\r\n/.exec(body) ?? [];
    const [, script] = /^PUT .*\/scripts\/([^/?]+)\?/.exec(call) ?? [];
    if (metadata && script) uploads[script] = JSON.parse(metadata);
    // Nothing is deployed before.
    if (/^GET .*\/(services|scripts)\//.test(call)) return [404, undefined];
    return [200, (ANSWERS.find(([pattern]) => pattern.test(call))?.[1] ?? (() => ({})))({ url, body })];
  };
  const server = createServer((request, response) => {
    if (request.url === '/healthz') return void response.end('{}');
    void answer(request).then(([status, result]) => {
      const errors = status === 200 ? [] : [{ code: 10090, message: 'not found' }];
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify({ success: status === 200, errors, messages: [], result }));
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const cwd = await checkout();
  const env = {
    ...(await writeDeployments({ eu: { agents: true, archive: true, vars: { KEY_PREFIX: 'eu' } } })),
    CLOUDFLARE_API_BASE_URL: url,
    ...insteadOf(MINIMAL.host, url),
  };
  const { code, output } = await deploy(cwd, ['eu', '--migrate'], env);
  expect([code, output]).toEqual([0, expect.stringContaining(`eu is deployed: https://${MINIMAL.host}`)]);
  const indexes = [/\/query$/, /^PUT .*\/ticket-write-back-api$/, /^PUT .*-agents$/].map((pattern) =>
    calls.findLastIndex((call) => pattern.test(call)),
  );
  expect(indexes).toEqual([...indexes].sort((a, b) => a - b));
  // The first query looks for a migration of before 1.0.
  expect(indexes[0]).toBeGreaterThan(calls.findIndex((call) => call.endsWith('/query')));
  const binding = (type: string, name: string, values: object) => expect.objectContaining({ type, name, ...values });
  expect(uploads).toEqual({
    'ticket-write-back-api': expect.objectContaining({
      bindings: expect.arrayContaining([
        binding('plain_text', 'KEY_PREFIX', { text: 'eu' }),
        binding('d1', 'DB', { id: MINIMAL.database }),
        binding('r2_bucket', 'ARCHIVE', { bucket_name: 'ticket-write-back-archive' }),
      ]),
    }),
    'ticket-write-back-api-agents': expect.objectContaining({
      bindings: expect.arrayContaining([
        binding('plain_text', 'KEY_PREFIX', { text: 'eu' }),
        binding('durable_object_namespace', 'PUSHER', { script_name: 'ticket-write-back-api' }),
      ]),
    }),
  });
  expect(await readFile(join(cwd, 'build/static/docs/keys.html'), 'utf8')).toContain('eu_[0-9A-Za-z]');
}, 300_000);
