import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isInstalled } from '../../support/command.ts';

const FILES = 'src/modules/push/assets/docs/psa';

/** A receiver that /docs/psa offers. */
export interface SampleReceiver {
  language: string;
  needs: string[];
  /** The commands of its processes: the first one serves the port. */
  commands: (port: number, directory: string) => [string, ...string[]][];
  /** Whether it also writes into the PSA. One that does not has a queue of messages instead of changes. */
  writes: boolean;
}

const ALL: SampleReceiver[] = [
  {
    language: 'Python',
    needs: ['python3'],
    commands: (port) => [['python3', `${FILES}/receiver.py`, String(port)]],
    writes: true,
  },
  {
    language: 'PHP',
    needs: ['php'],
    commands: (port) => [
      // As without a php.ini, where PHP answers an error with 200 on its own.
      ['php', '-d', 'display_errors=1', '-S', `127.0.0.1:${port}`, `${FILES}/receiver.php`],
      ['php', `${FILES}/receiver.php`],
    ],
    writes: true,
  },
  {
    language: 'Node',
    needs: ['node'],
    commands: (port) => [['node', `${FILES}/receiver.mjs`, String(port)]],
    writes: true,
  },
  {
    language: 'C#',
    needs: ['mcs', 'mono'],
    commands: (port, directory) => {
      const program = join(directory, 'Receiver.exe');
      execFileSync('mcs', [`-out:${program}`, `${FILES}/Receiver.cs`]);
      return [['mono', program, String(port)]];
    },
    writes: false,
  },
];

/** The receivers whose interpreter is installed here. */
export const SAMPLE_RECEIVERS = ALL.filter(({ needs }) => needs.every(isInstalled));

/** Starts the processes of a receiver. `directory` is for its queue, which outlives them. */
export async function startReceiver(
  { commands }: SampleReceiver,
  directory: string,
  port: number,
  variables: { WEBHOOK_SECRET: string; PSA_URL: string; PAUSE: string },
) {
  const env = { ...process.env, ...variables, PSA_TOKEN: 'token', QUEUE: join(directory, 'queue') };
  const children: ChildProcess[] = commands(port, directory).map(([program, ...args]) =>
    spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] }),
  );
  let printed = '';
  for (const { stderr } of children)
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  const url = `http://127.0.0.1:${port}/`;
  const refusesUnsigned = () =>
    fetch(url, { method: 'POST' }).then(
      ({ status }) => status === 401,
      () => false,
    );
  while (!(await refusesUnsigned())) await setTimeout(20);
  return {
    url,
    /** What its processes printed as errors. */
    printed: () => printed,
    /** Kills all of its processes with SIGKILL. */
    kill: () =>
      Promise.all(
        children.map(async (child) => {
          if (child.exitCode !== null) return; // An error has ended it.
          const closed = once(child, 'close');
          child.kill('SIGKILL');
          await closed;
        }),
      ),
  };
}
