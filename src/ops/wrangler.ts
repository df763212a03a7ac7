import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

/** Starts wrangler on this Node by its file: Windows starts `wrangler` only through a shell. */
export function spawnWrangler(args: string[], options: SpawnOptions): ChildProcess {
  const env = { ...process.env, WRANGLER_SEND_METRICS: 'false', ...options.env };
  return spawn(process.execPath, ['--no-warnings', fileURLToPath(import.meta.resolve('wrangler')), ...args], {
    ...options,
    env,
  });
}

/** Runs wrangler to its end, with `input` on standard input. */
export async function runWrangler(
  args: string[],
  input = '',
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; output: string }> {
  const child = spawnWrangler(args, { stdio: ['pipe', 'pipe', 'pipe'], env });
  child.stdin?.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    once(child, 'close'),
  ]);
  return { code, output: `${stdout}${stderr}`.trim() };
}
