import { text } from 'node:stream/consumers';
import { isWellFormedKey } from '../domain/api-key.ts';
import { UsageError } from './command.ts';
import { prompt } from './prompt.ts';

/** A key value of any deployment, even without its last characters. */
const LOOKS_LIKE_A_KEY = /[a-z0-9]_[0-9A-Za-z]{40,}/;

/** Refuses key values among the arguments, before an error repeats them. @throws UsageError */
export function refuseKeysInArguments(args: readonly string[]): void {
  if (!args.some((argument) => LOOKS_LIKE_A_KEY.test(argument))) return;
  throw new UsageError(
    'A key value is on the command line, where the shell keeps it and other users of this machine see it. Send it on standard input.',
  );
}

/**
 * The text on standard input. At a terminal the command asks for it and does not show what is
 * typed.
 * @throws UsageError if there is nothing
 */
export async function readSecret(question: string): Promise<string> {
  const secret = process.stdin.isTTY ? await prompt(question, { hidden: true }) : await text(process.stdin);
  if (secret.trim() === '') throw new UsageError('Standard input is empty.');
  return secret;
}

/** Reads a complete key value from standard input. @throws UsageError */
export const readKeyValue = async () => parseKeyValue(await readSecret('The key (not shown): '));

/** @throws UsageError unless the text is a complete key value, alone or after Bearer */
export function parseKeyValue(text: string): string {
  const key = text.trim().replace(/^Bearer\s+/i, '');
  if (isWellFormedKey(key, key.slice(0, key.indexOf('_')))) return key;
  throw new UsageError('Standard input or the file has no complete key value.');
}
