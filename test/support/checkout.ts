import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** Another checkout, because the static files of this one belong to the other tests. */
export async function checkout(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'twb-checkout-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (const name of await readdir('.'))
    if (!/^(\.|build$|dist$)/.test(name)) await symlink(resolve(name), join(directory, name));
  return directory;
}

/** Runs a script of src/ops/deploy in a directory, without a terminal. `killed` ends it and its children with its signal. */
export async function runScript(
  script: string,
  args: string[],
  { cwd, env, killed }: { cwd: string; env: Record<string, string>; killed?: Promise<NodeJS.Signals> },
): Promise<{ code: number | null; output: string }> {
  const child = spawn('node', [`src/ops/deploy/${script}`, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  void killed?.then((signal) => child.pid !== undefined && !isOver() && process.kill(-child.pid, signal));
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, output: stdout + stderr };
}

/** The variable with which programs reach a local server in place of a host. Plain http gets no response. */
export function insteadOf(host: string, url: string): { NODE_OPTIONS: string } {
  const script = `const send = fetch;
    globalThis.fetch = async (to, init) => {
      if (String(to).startsWith('http://${host}')) throw new TypeError('fetch failed');
      return send(String(to).replace('https://${host}', '${url}'), init);
    };`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}` };
}

/** The source of a module that lets setup believe that a terminal shows its output. */
export const IN_TERMINAL = "if (process.argv[1]?.endsWith('setup-command.ts')) process.stdout.isTTY = true;";
