import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Starts wrangler on this Node by its file: Windows starts `wrangler` only through a shell. */
export function spawnWrangler(args: string[], options: SpawnOptions): ChildProcess {
  const env = { ...process.env, WRANGLER_SEND_METRICS: 'false', ...options.env };
  return spawn(process.execPath, ['--no-warnings', fileURLToPath(import.meta.resolve('wrangler')), ...args], {
    ...options,
    env,
  });
}
