import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { withLocalD1 } from '../../src/cli/local.ts';
import { localDatabase } from '../support/command.ts';
import { failedStart, freePort, keyIn, printedBy, start, startIn, stop } from '../support/server.ts';

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
    const line = /^\{"event":"database_size","bytes":\d+,"share":0\.?\d*\}$/m;
    await vi.waitFor(() => expect(printedBy(running.server)).toMatch(line));
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

  test('prints the key, the curl line and the addresses together, after everything else', () => {
    const lines = running.output.trimEnd().split('\n').filter(Boolean);
    const url = `http://localhost:${port}`;
    expect(lines.slice(-7)).toEqual([
      `  ${keyIn(running.output)}`,
      expect.stringContaining('ticket 1001'),
      expect.stringMatching(`^  curl -i ${url}/api/v1/tickets/1001/time-entries `),
      expect.stringMatching(`^  API +${url}/api/v1$`),
      expect.stringMatching(`^  Documentation +${url}/docs$`),
      expect.stringMatching(`^  Settings +${url}/settings `),
      'Stop with Ctrl-C.',
    ]);
  });

  test('logs one line for a request', async () => {
    const before = printedBy(running.server).length;
    const response = await fetch(`http://localhost:${port}/api/v1/ping`);
    expect(response.status).toBe(401);
    await vi.waitFor(() => expect(printedBy(running.server).slice(before)).toContain('/api/v1/ping'));
    // Wrangler's own line would come later.
    await new Promise((resolve) => setTimeout(resolve, 500));
    const lines = printedBy(running.server).slice(before).split('\n').filter(Boolean);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ event: 'request', route: '/api/v1/ping' }),
    ]);
  });

  test('goes on after 20 clients that disconnect in the middle of a body', async () => {
    const key = keyIn(running.output);
    for (let client = 1; client <= 20; client++) await disconnectInBody(port, key);
    // The proxy of an older wrangler answered for some time before it ended.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const response = await fetch(`http://localhost:${port}/api/v1/ping`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(200);
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

test('the key fits the settings in .dev.vars, over which --var goes, and unknown names are warned of', async () => {
  // Not in the checkout, whose .dev.vars is the developer's.
  const directory = await mkdtemp(join(tmpdir(), 'twb-'));
  const files = (await readdir('.')).filter((name) => !name.startsWith('.'));
  for (const name of files) await symlink(resolve(name), join(directory, name));
  await writeFile(
    join(directory, '.dev.vars'),
    '# Staging\nKEY_PREFIX="stg" # as there\nKEY_LIMIT=no limit\nKEY_LIMT=1/10s\n',
  );
  const port = await freePort();
  const { server, output } = await startIn(
    directory,
    '--port',
    String(port),
    '--var',
    'KEY_LIMIT:2/10s',
    '--var',
    'COLOUR:blue',
  );
  try {
    const warnings = output.split('\n').filter((line) => line.startsWith('Warning: '));
    expect(warnings).toEqual([
      'Warning: KEY_LIMT (.dev.vars) is not a variable of this service, and has no effect. Did you mean KEY_LIMIT?',
      'Warning: COLOUR (--var) is not a variable of this service, and has no effect.',
    ]);
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

test('a wrong setting stops the start with one sentence that names it and the rule', async () => {
  expect(await failedStart('--port', String(await freePort()), '--var', 'KEY_LIMIT:200/60s')).toEqual({
    code: 1,
    output:
      'KEY_LIMIT: "200/60s" is not a rate limit; write quota/window such as "200/10s", quota 1–10000, window 1s–10s\n',
  });
});

test('a database with migrations that are not in the repository stops the start, which says what to delete', async () => {
  const { persistTo, remove } = await localDatabase();
  try {
    await withLocalD1(persistTo, (db) =>
      db.prepare("insert into d1_migrations (name) values ('0001_of_old.sql')").run(),
    );
    expect(await failedStart('--port', String(await freePort()), '--persist-to', persistTo)).toEqual({
      code: 1,
      output: `The local database was made by other migrations (0001_of_old.sql): delete the directory ${persistTo} and start again.\n`,
    });
  } finally {
    await remove();
  }
});

test('a port that is in use stops the start', async () => {
  const port = await freePort();
  const other = createServer().listen(port, 'localhost');
  await once(other, 'listening');
  try {
    expect(await failedStart('--port', String(port))).toEqual({
      code: 1,
      output: expect.stringContaining(`:${port} is in use`),
    });
  } finally {
    other.close();
  }
});

/** Sends half of the body that it announces, and closes the connection. */
async function disconnectInBody(port: number, key: string): Promise<void> {
  const socket = connect(port, 'localhost');
  await once(socket, 'connect');
  const half = `{"message": "${'x'.repeat(200)}`;
  const headers = [
    'Host: localhost',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${half.length * 2}`,
  ];
  socket.write(`POST /api/v1/tickets/1001/notes HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${half}`);
  // Until the server has read it.
  await new Promise((resolve) => setTimeout(resolve, 20));
  socket.destroy();
}
