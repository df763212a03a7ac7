import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

/** The result of a command. */
export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  /** The standard input. */
  input?: Iterable<string>;
  /** Variables in addition to the environment of the tests. */
  env?: Record<string, string>;
}

/**
 * Runs a command of `npm run ops` in a process of its own, with a standard input if there is one.
 * Interrupts it, as Ctrl-C does, when `interrupted` resolves.
 */
export async function spawnCli(
  command: string,
  args: string[],
  { input = [], env, interrupted }: CliOptions & { interrupted?: Promise<unknown> } = {},
): Promise<Ran> {
  const child = spawn('node', ['src/ops/ops.ts', command, ...args], { env: { ...process.env, ...env } });
  const output = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  await pipeline(Readable.from(input), child.stdin);
  if (interrupted && (await Promise.race([interrupted.then(() => true), output.then(() => false)])))
    child.kill('SIGINT');
  const [stdout, stderr, [code]] = await output;
  return { code, stdout, stderr };
}

/** Runs wrangler. */
export async function wrangler(...args: string[]): Promise<void> {
  const child = spawn('wrangler', args, { env: { ...process.env, WRANGLER_SEND_METRICS: 'false' } });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (code !== 0) throw new Error(`wrangler ${args.join(' ')}: ${stdout}${stderr}`);
}

/** A local database in a directory, as `--persist-to` takes it. */
export interface LocalDatabase {
  persistTo: string;
  remove: () => Promise<void>;
}

/** Copies the database in a directory. */
export async function copyOf(original: string): Promise<LocalDatabase> {
  const persistTo = await mkdtemp(join(tmpdir(), 'twb-database-'));
  await cp(original, persistTo, { recursive: true });
  return { persistTo, remove: () => rm(persistTo, { recursive: true }) };
}

/** Whether this machine has a program. */
export function isInstalled(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' });
    return true;
  } catch (err) {
    if (err instanceof Error && 'code' in err && err.code === 'ENOENT') return false;
    throw err;
  }
}
