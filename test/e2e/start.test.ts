import { type ChildProcess, execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort, keyIn, printedBy, start, startIn, stop } from '../support/server.ts';

const run = promisify(execFile);

const curlIn = (output: string) => output.split('\n').find((line) => line.trim().startsWith('curl')) ?? '';

describe('npm start', () => {
  let directory: string;
  let port: number;
  let running: { server: ChildProcess; output: string };

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'twb-'));
    port = await freePort();
    running = await start('--port', String(port), '--persist-to', directory);
  });

  afterAll(async () => {
    await stop(running.server);
    await rm(directory, { recursive: true });
  });

  test('runs the daily job when asked to', async () => {
    const response = await fetch(`http://localhost:${port}/cdn-cgi/handler/scheduled`);
    expect(await response.text()).toBe('ok');
    expect(response.status).toBe(200);
    expect(printedBy(running.server)).toMatch(/^\{"event":"database_size","bytes":\d+,"share":0\.?\d*\}$/m);
  });

  test('prints a curl line that, pasted unchanged, logs time on ticket 1001, and once only', async () => {
    const first = await run('sh', ['-c', curlIn(running.output)]);
    expect(first.stdout).toContain('HTTP/1.1 201 Created');
    expect(JSON.parse(first.stdout.split('\r\n\r\n').at(-1) ?? '')).toMatchObject({
      entry: { minutes: 30, hourlyRate: 150, status: 'SUBMITTED', billable: true, userId: 'automation' },
      agreementSource: 'company_default',
    });
    const second = await run('sh', ['-c', curlIn(running.output)]);
    expect(second.stdout).toContain('HTTP/1.1 200 OK');
    expect(second.stdout).toContain('"idempotentReplay":true');
  });

  test('refuses a body that is too large, sent without its length, and goes on', async () => {
    const headers = [
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
      `Authorization: Bearer ${keyIn(running.output)}`,
    ];
    const large = join(directory, 'large.json');
    await writeFile(large, 'x'.repeat(700_000));
    const path = `http://localhost:${port}/api/v1/tickets/1001/notes`;
    for (let time = 1; time <= 3; time++) {
      const { stdout } = await run('curl', [
        '-sS',
        ...headers.flatMap((header) => ['-H', header]),
        '--data-binary',
        `@${large}`,
        path,
      ]);
      expect(JSON.parse(stdout)).toMatchObject({ status: 413, code: 'body_too_large' });
    }
    expect((await fetch(`http://localhost:${port}/healthz`)).status).toBe(200);
  });

  test('started again keeps the data, replaces the key of before, and passes what follows -- on to wrangler', async () => {
    const before = keyIn(running.output);
    await stop(running.server);
    running = await start('--port', String(port), '--persist-to', directory, '--var', 'KEY_LIMIT:2/10s');
    const ping = (key: string) =>
      fetch(`http://localhost:${port}/api/v1/ping`, { headers: { Authorization: `Bearer ${key}` } });
    expect((await ping(before)).status).toBe(401);
    const response = await ping(keyIn(running.output));
    expect(response.status).toBe(200);
    expect(response.headers.get('RateLimit-Policy')).toBe('"key";q=2;w=10');
  });
});

test('the key fits the settings in .dev.vars, over which --var goes', async () => {
  // Not in the checkout, whose .dev.vars is the developer's.
  const directory = await mkdtemp(join(tmpdir(), 'twb-'));
  const files = (await readdir('.')).filter((name) => !name.startsWith('.'));
  for (const name of files) await symlink(resolve(name), join(directory, name));
  await writeFile(join(directory, '.dev.vars'), '# Staging\nKEY_PREFIX="stg" # as there\nKEY_LIMIT=no limit\n');
  const port = await freePort();
  const { server, output } = await startIn(directory, '--port', String(port), '--var', 'KEY_LIMIT:2/10s');
  try {
    const key = keyIn(output);
    expect(key).toMatch(/^stg_/);
    const response = await fetch(`http://localhost:${port}/api/v1/ping`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('RateLimit-Policy')).toBe('"key";q=2;w=10');
  } finally {
    await stop(server);
    await rm(directory, { recursive: true });
  }
});

test('a wrong setting stops the start, and the message names it and the rule', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'twb-'));
  const failed = await start(
    '--port',
    String(await freePort()),
    '--persist-to',
    directory,
    '--var',
    'KEY_LIMIT:200/60s',
  ).catch((err: unknown) => err);
  expect(failed).toBeInstanceOf(Error);
  expect(String(failed)).toContain(
    'KEY_LIMIT: "200/60s" is not a rate limit; write quota/window such as "200/10s", quota 1–10000, window 1s–10s',
  );
  await rm(directory, { recursive: true });
});
