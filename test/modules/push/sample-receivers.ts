import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { isInstalled } from '../../support/command.ts';

const FILES = 'src/modules/push/assets/docs/psa';

/** A receiver that /docs/psa offers: `PROGRAM FILE PORT` starts it. */
export interface SampleReceiver {
  language: string;
  program: string;
  file: string;
}

const ALL: SampleReceiver[] = [
  { language: 'Python', program: 'python3', file: `${FILES}/receiver.py` },
  { language: 'Node', program: 'node', file: `${FILES}/receiver.mjs` },
];

/** The receivers whose interpreter is installed here. */
export const SAMPLE_RECEIVERS = ALL.filter(({ program }) => isInstalled(program));

/** Starts a receiver. `directory` is for its queue, which outlives it. `options` come after its port. */
export async function startReceiver(
  { program, file }: SampleReceiver,
  directory: string,
  port: number,
  variables: { WEBHOOK_SECRET: string; PSA_URL: string; PAUSE: string; [other: string]: string },
  options: readonly string[] = [],
) {
  const env = { ...process.env, ...variables, PSA_AUTHORIZATION: 'Bearer token', QUEUE: join(directory, 'queue') };
  const child = spawn(program, [file, String(port), ...options], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const url = `http://127.0.0.1:${port}/`;
  const refusesUnsigned = () =>
    fetch(url, { method: 'POST' }).then(
      ({ status }) => status === 401,
      () => false,
    );
  while (!(await refusesUnsigned())) {
    if (child.exitCode !== null) throw new Error(`The receiver ended: ${printed}`);
    await setTimeout(20);
  }
  return {
    url,
    /** What it printed as errors. */
    printed: () => printed,
    /** Kills it with SIGKILL. */
    kill: async () => {
      if (child.exitCode !== null) return; // An error has ended it.
      const closed = once(child, 'close');
      child.kill('SIGKILL');
      await closed;
    },
  };
}
