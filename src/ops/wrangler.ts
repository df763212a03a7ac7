import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Deployment } from './deployment.ts';
import { CommandFailure } from './failures.ts';

/** Starts wrangler on this Node by its file: Windows starts `wrangler` only through a shell. */
export function spawnWrangler(args: string[], options: SpawnOptions): ChildProcess {
  const env = { ...process.env, WRANGLER_SEND_METRICS: 'false', ...options.env };
  return spawn(process.execPath, ['--no-warnings', fileURLToPath(import.meta.resolve('wrangler')), ...args], {
    ...options,
    env,
  });
}

/** Runs wrangler to its end in the account of a deployment, with `input` on standard input. */
export async function runWrangler(
  { account }: Deployment,
  args: string[],
  input = '',
): Promise<{ code: number | null; output: string }> {
  const child = spawnWrangler(args, { stdio: 'pipe', env: { CLOUDFLARE_ACCOUNT_ID: account } });
  child.stdin?.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    once(child, 'close'),
  ]);
  return { code, output: `${stdout}${stderr}`.trim() };
}

/** @throws CommandFailure */
export async function putSecret(deployment: Deployment, worker: string, name: string, value: string): Promise<void> {
  const { code, output } = await runWrangler(deployment, ['secret', 'put', name, '--name', worker], value);
  if (code !== 0) throw new CommandFailure(`${name} was not set on ${worker}:\n${output}`);
}
