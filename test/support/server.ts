import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { LocalDatabase } from './command.ts';
import { rememberBody, rememberKey, secretsIn } from './secrets.ts';

const outputs = new WeakMap<ChildProcess, () => string>();

/** Everything that a server has printed so far. */
export const printedBy = (server: ChildProcess) => outputs.get(server)?.() ?? '';

/** Below the ports that the system chooses for other programs, which could take one before its server has started. */
const PORTS = { first: 10_000, count: 20_000 };
let nextPort = randomInt(PORTS.count);

/** A free port of this machine, another one each time. */
export async function freePort(): Promise<number> {
  const port = PORTS.first + (nextPort++ % PORTS.count);
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isFree) return freePort();
  server.close();
  await once(server, 'close');
  return port;
}

/** Instead of .dev.vars, which belongs to the developer. */
const NO_VARIABLES = ['--env-file', devNull];

/**
 * Starts the local server as `npm start` does; resolves when it is ready, with everything it
 * printed until then.
 */
export const start = (...args: string[]) => startIn('.', ...NO_VARIABLES, ...args);

/** The last line that the start prints. The jobs of the local cron log theirs after it. */
const LAST_LINE = 'Stop with Ctrl-C';

/** The same in a directory that has the files of the checkout, with its .dev.vars. */
export async function startIn(cwd: string, ...args: string[]): Promise<{ server: ChildProcess; output: string }> {
  const server = spawn('node', ['src/dev/start.ts', ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [server.stdout, server.stderr]) stream?.on('data', (chunk) => (output += chunk));
  outputs.set(server, () => output);
  const ended = once(server, 'close').then(() => Promise.reject(new Error(`the server ended:\n${output}`)));
  while (!output.includes(LAST_LINE)) await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 100))]);
  ended.catch(() => undefined);
  return { server, output: output.slice(0, output.indexOf(LAST_LINE) + LAST_LINE.length) };
}

/** Runs a start that is expected to fail; returns its exit code and everything it printed. */
export async function failedStart(...args: string[]): Promise<{ code: number | null; output: string }> {
  const server = spawn('node', ['src/dev/start.ts', ...NO_VARIABLES, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([text(server.stdout), text(server.stderr), once(server, 'close')]);
  return { code, output: stdout + stderr };
}

/**
 * Runs the Workers of these configurations in one `wrangler dev`, the first one at the URL. Resolves when a request
 * without a key gets its 401.
 */
export async function serveTogether(
  configs: readonly string[],
  persistTo: string,
  withoutKey: (url: string) => Promise<Response>,
): Promise<{ url: string; close: () => Promise<void> }> {
  const [port, inspectorPort] = [await freePort(), await freePort()];
  const flags = ['--ip', '127.0.0.1', '--port', String(port), '--inspector-port', String(inspectorPort)];
  const args = ['dev', ...configs.flatMap((path) => ['-c', path]), '--persist-to', persistTo, ...flags];
  const server = spawn('wrangler', [...args, '--show-interactive-dev-session=false'], {
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  server.stderr.on('data', (chunk) => (errors += chunk));
  const url = `http://127.0.0.1:${port}`;
  while ((await withoutKey(url).catch(() => undefined))?.status !== 401) {
    if (server.exitCode !== null) throw new Error(`wrangler dev ended: ${errors}`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const close = async () => {
    const closed = once(server, 'close');
    server.kill();
    await closed;
  };
  return { url, close };
}

/** Stops a server, if it still runs, and searches everything it printed for secrets. */
export async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) {
    const closed = once(server, 'close');
    server.kill('SIGTERM');
    await closed;
  }
  const output = printedBy(server);
  const key = keyIn(output);
  const [, body] = / -d '(.+)'/.exec(output) ?? [];
  if (key !== '') await rememberKey(key);
  if (body !== undefined) rememberBody(body);
  // `npm start` prints its demo key on purpose in two lines: alone, and in the curl line.
  const lines = output.split('\n').filter((line) => line !== `  ${key}` && !line.startsWith('  curl -i '));
  const secrets = secretsIn(lines);
  if (secrets.length > 0) throw new Error(`The server printed ${secrets.join('\nand ')}`);
}

/** The key in the output of a start, whatever its prefix is. */
export const keyIn = (output: string) => /\b[a-z0-9]+_[0-9A-Za-z]{46}\b/.exec(output)?.[0] ?? '';

export interface StartedServer {
  url: string;
  /** The demo key. */
  key: string;
  /** The directory of its database. */
  persistTo: string;
  /** Stops the server and removes its database. @throws if it printed a secret */
  close: () => Promise<void>;
}

/** Starts a local server with a database of its own. */
export async function startServer(...args: string[]): Promise<StartedServer> {
  const persistTo = await mkdtemp(join(tmpdir(), 'twb-'));
  return startServerOn({ persistTo, remove: () => rm(persistTo, { recursive: true }) }, ...args);
}

/** Starts a local server on this database. Closing the server removes the database. */
export async function startServerOn({ persistTo, remove }: LocalDatabase, ...args: string[]): Promise<StartedServer> {
  const port = await freePort();
  const { server, output } = await start('--port', String(port), '--persist-to', persistTo, ...args);
  return {
    url: `http://localhost:${port}`,
    key: keyIn(output),
    persistTo,
    close: async () => {
      try {
        await stop(server);
      } finally {
        await remove();
      }
    },
  };
}
