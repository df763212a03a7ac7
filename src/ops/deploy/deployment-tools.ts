import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { type CloudflareApi, cloudflareApi } from '../cloudflare-api.ts';
import { CommandFailure } from '../failures.ts';
import { prompt } from '../input.ts';
import { remind } from '../wait.ts';
import { spawnWrangler } from '../wrangler.ts';

/** What a deployment does to the world; tests replace it. */
export interface Tools {
  /** @throws Error if the program fails */
  run: (program: 'build' | 'wrangler', args: readonly string[]) => Promise<void>;
  api: (account: string | undefined) => CloudflareApi;
  print: (line: string) => void;
  agrees: typeof agrees;
  fetch: typeof fetch;
}

/** The tools of the commands. */
export const deploymentTools = (): Tools => ({
  run: programRunner(),
  api: (account) => {
    const send = cloudflareApi(account);
    return (path, init) => remind(console.log, "Waiting for Cloudflare's API", () => send(path, init));
  },
  print: console.log,
  agrees,
  fetch,
});

/** What the programs of the latest deployment printed. */
export const PROGRAM_LOG = 'build/deploy.log';
const SHOWN_LINES = 20;

/** Runs the programs of a deployment. Their hundreds of lines are in a file, whose end an error shows. */
export function programRunner(): Tools['run'] {
  mkdirSync('build', { recursive: true });
  writeFileSync(PROGRAM_LOG, '');
  const log = openSync(PROGRAM_LOG, 'a');
  return async (program, args) => {
    writeSync(log, `\n> ${program} ${args.join(' ')}\n`);
    // Without a terminal wrangler asks nothing: everything was agreed to before. Only wrangler gets the token.
    const stdio = ['ignore' as const, log, log];
    const env = { ...process.env, CLOUDFLARE_API_TOKEN: undefined };
    const child =
      program === 'wrangler'
        ? spawnWrangler([...args], { stdio })
        : spawn(process.execPath, ['src/dev/build.ts', ...args], { stdio, env });
    const [code] = await once(child, 'close');
    if (code === 0) return;
    const end = readFileSync(PROGRAM_LOG, 'utf8').trim().split('\n').slice(-SHOWN_LINES).join('\n');
    throw new CommandFailure(
      `${end}\n\n${program} ${args.join(' ')} failed. The deployment ends here. All output is in ${PROGRAM_LOG}.`,
    );
  };
}

/** Asks at the terminal. @throws CommandFailure without one: a job of CI must not decide this */
export async function agrees(question: string): Promise<boolean> {
  if (process.stdin.isTTY) return (await prompt(question)).trim() === 'yes';
  throw new CommandFailure('This needs a confirmation: run the command in a terminal.');
}
