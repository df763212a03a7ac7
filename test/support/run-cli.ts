import { Readable } from 'node:stream';
import { vi } from 'vitest';
import { runProgram } from '../../src/ops/program.ts';
import type { CliOptions, Ran } from './command.ts';

let running: Promise<unknown> = Promise.resolve();

/**
 * Runs a command of `npm run ops` in this process, after the previous call has ended: a command uses
 * the standard streams, the environment and the exit code of its process.
 */
export function runCli(command: string, args: string[], options: CliOptions = {}): Promise<Ran> {
  const ran = running.then(() => runHere([command, ...args], options));
  running = ran.catch(() => undefined);
  return ran;
}

async function runHere(args: string[], { input = [], env = {} }: CliOptions): Promise<Ran> {
  const printed = { stdout: '', stderr: '' };
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {};
  const before = { env: process.env, exitCode: process.exitCode };
  const spies = [
    capture(process.stdout, 'stdout', printed),
    capture(process.stderr, 'stderr', printed),
    vi.spyOn(console, 'log').mockImplementation((line) => void process.stdout.write(`${line}\n`)),
    vi.spyOn(console, 'error').mockImplementation((line) => void process.stderr.write(`${line}\n`)),
  ];
  Object.defineProperty(process, 'stdin', { value: Readable.from(input, { objectMode: false }), configurable: true });
  process.env = { ...before.env, ...env };
  process.exitCode = undefined;
  try {
    await runProgram(args);
    return { code: Number(process.exitCode ?? 0), ...printed };
  } finally {
    process.exitCode = before.exitCode;
    process.env = before.env;
    Object.defineProperty(process, 'stdin', stdin);
    for (const spy of spies) spy.mockRestore();
  }
}

/** Keeps what is written to a stream, and reports it as written. */
function capture(stream: NodeJS.WriteStream, name: 'stdout' | 'stderr', printed: Record<typeof name, string>) {
  return vi.spyOn(stream, 'write').mockImplementation((chunk, encodingOrCallback, callback) => {
    printed[name] += String(chunk);
    const written = typeof encodingOrCallback === 'function' ? encodingOrCallback : callback;
    written?.(null);
    return true;
  });
}
