import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { UsageError } from './command.ts';

/** Whatever begins like a key value, whichever deployment it belongs to; one that lost a few characters at its end is still most of a key. */
const LOOKS_LIKE_A_KEY = /[a-z0-9]_[0-9A-Za-z]{40,}/;

/**
 * Refuses a call with a key value among its arguments, before anything repeats them in an error.
 * @throws UsageError
 */
export function refuseKeysInArguments(): void {
  if (!process.argv.some((argument) => LOOKS_LIKE_A_KEY.test(argument))) return;
  throw new UsageError(
    'A key value stands on the command line, where the shell keeps it and other users of this machine see it. Send it on standard input.',
  );
}

/**
 * What stands on standard input. At a terminal it is asked for, and not shown while it is typed.
 * @throws UsageError if there is nothing
 */
export async function readSecret(question: string): Promise<string> {
  const secret = process.stdin.isTTY ? await ask(question) : await text(process.stdin);
  if (secret.trim() === '') throw new UsageError('Nothing came on standard input.');
  return secret;
}

async function ask(question: string): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  // Ctrl-C and Ctrl-D close it without an answer.
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    return await Promise.race([terminal.question(''), closed]);
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
