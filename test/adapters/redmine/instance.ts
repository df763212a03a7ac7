import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import * as z from 'zod';
import { freePort } from '../../support/server.ts';

const run = promisify(execFile);

const PACKAGES = ['redmine', 'redmine-sqlite', 'puma'];
const HOME = '/usr/share/redmine';
const START_LIMIT_MS = 120_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Installs Redmine from Debian if it is missing. Resolves with why that is not possible. */
export async function install(): Promise<string | undefined> {
  if (await isInstalled()) return undefined;
  const command = `apt-get install --no-install-recommends ${PACKAGES.join(' ')}`;
  if (process.getuid?.() !== 0) return `Redmine is not installed. As root on Debian 12: ${command}`;
  try {
    await run('bash', ['-euo', 'pipefail', '-c', INSTALL, 'bash', ...PACKAGES], { maxBuffer: MAX_OUTPUT_BYTES });
    return undefined;
  } catch (err) {
    if (!(err instanceof Error)) throw err;
    return `Redmine cannot be installed (${command}): ${err.message.trim().split('\n').at(-1)}`;
  }
}

/**
 * Installs its arguments without a Redmine of the system: ours has its own database. The bundler in
 * the security updates of Ruby does not find the gems of Debian, so Debian's bundler is chosen.
 */
const INSTALL = `
  apt-get update -q
  echo 'redmine redmine/instances/default/dbconfig-install boolean false' | debconf-set-selections
  bundler=$(apt-cache show --no-all-versions ruby-bundler | sed -n 's/^Version: \\([0-9.]*\\).*/\\1/p')
  export BUNDLER_VERSION=$bundler DEBIAN_FRONTEND=noninteractive
  apt-get install --yes -q --no-install-recommends "$@"`;

/** False too if there is no dpkg. */
function isInstalled(): Promise<boolean> {
  const installed = PACKAGES.map(() => 'installed').join(' ');
  return run('dpkg-query', ['-W', '-f', `\${db:Status-Status} `, ...PACKAGES]).then(
    ({ stdout }) => stdout.trim() === installed,
    () => false,
  );
}

const person = { admin: z.string(), technician: z.string(), customer: z.string(), service: z.string() };
const seeded = z.object({
  keys: z.object(person),
  users: z.object(person),
  roles: z.record(z.string(), z.int()),
  ids: z.record(z.string(), z.int()),
  rate: z.int(),
});

/** A Redmine of its own. */
export interface RedmineInstance {
  url: string;
  /** What the test knows of it. */
  seed: z.infer<typeof seeded>;
  start(): Promise<void>;
  kill(): Promise<void>;
}

/** Makes a Redmine that stores everything in one directory, and fills it. */
export async function makeRedmine(directory: string): Promise<RedmineInstance> {
  const state = await realpath(directory);
  for (const name of ['config', 'files', 'log', 'tmp', 'public']) await mkdir(join(state, name));
  const database = `production:\n  adapter: sqlite3\n  database: ${state}/redmine.sqlite\n  timeout: 10000\n`;
  await writeFile(join(state, 'config/database.yml'), database);
  await writeFile(join(state, 'config/secret_key.txt'), randomBytes(64).toString('hex'));
  const env = {
    ...process.env,
    // Debian looks for instances below /var/lib/redmine. This path leads out of there: the kernel
    // needs three steps up, and Rails four.
    REDMINE_INSTANCE: `../../../..${state}`,
    RAILS_ENV: 'production',
    REDMINE_LANG: 'en',
    SCHEMA: join(state, 'schema.rb'),
  };
  const rails = (...args: string[]) => run('ruby', ['bin/rails', ...args], { cwd: HOME, env });
  await rails('db:migrate');
  await rails('redmine:load_default_data');
  const { stdout } = await rails('runner', await readFile(join(import.meta.dirname, 'seed.rb'), 'utf8'));
  const url = `http://127.0.0.1:${await freePort()}`;
  let server: ChildProcess | undefined;
  return {
    url,
    seed: seeded.parse(JSON.parse(stdout)),
    start: async () => {
      server = await startPuma(url, env);
    },
    kill: async () => {
      if (server) await kill(server);
    },
  };
}

/** Serves Redmine; resolves when it answers. */
async function startPuma(url: string, env: Record<string, string | undefined>): Promise<ChildProcess> {
  // One thread: SQLite has one writer, and the adapter must not write two pages at once.
  const args = ['-q', '-e', 'production', '-t', '1:1', '-b', url.replace('http', 'tcp'), 'config.ru'];
  const server = spawn('puma', args, { cwd: HOME, env, stdio: ['ignore', 'ignore', 'pipe'] });
  process.on('exit', () => server.kill('SIGKILL'));
  let errors = '';
  server.stderr.on('data', (chunk) => (errors += chunk));
  const until = Date.now() + START_LIMIT_MS;
  while (!(await fetch(url).catch(() => undefined))) {
    if (server.exitCode !== null || Date.now() > until) throw new Error(`Redmine did not start:\n${errors}`);
    await sleep(50);
  }
  return server;
}

/** Kills a server, if it still runs. */
async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const closed = once(server, 'close');
  server.kill('SIGKILL');
  await closed;
}
