import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { isWellFormedKey } from '../domain/api-key.ts';
import { parseWebhookSecrets, type WebhookSecret } from '../domain/webhook.ts';
import { parseOption } from './command.ts';
import { UsageError } from './failures.ts';

// Addresses and secrets from arguments, the environment, standard input and the terminal.

/** The address of a deployment: scheme and host. @throws UsageError */
export function parseServiceAddress(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.pathname === '/') return url;
  throw new UsageError('The address begins with https:// and ends with the host, such as https://tickets.example.');
}

/** The address in an option or variable with this name. @throws UsageError */
export function readAddress(
  name: string,
  text: string,
  parse: (text: string) => string | undefined,
  ifEmpty: string,
): string {
  const url = parseOption(name, () => parse(text));
  if (url !== undefined) return url;
  throw new UsageError(`${name} is empty; ${ifEmpty}.`);
}

/** The secrets in a variable of the environment. @throws UsageError */
export function secretsIn(name: string, option: string): WebhookSecret[] {
  const secrets = parseOption(name, () => parseWebhookSecrets(process.env[name] ?? ''));
  if (secrets.length > 0) return secrets;
  throw new UsageError(`${option} needs ${name} in the environment.`);
}

/** A key value of any deployment, even without its last characters. */
const LOOKS_LIKE_A_KEY = /[a-z0-9]_[0-9A-Za-z]{40,}/;

/** Refuses key values among the arguments, before an error repeats them. @throws UsageError */
export function refuseKeysInArguments(args: readonly string[]): void {
  if (!args.some((argument) => LOOKS_LIKE_A_KEY.test(argument))) return;
  throw new UsageError(
    'A key value is on the command line, where the shell keeps it and other users of this machine see it. Send it on standard input.',
  );
}

/** The text on standard input, or typed at a terminal, which does not show it. @throws UsageError if it is empty */
export async function readSecret(question: string): Promise<string> {
  const secret = process.stdin.isTTY ? await prompt(question, { hidden: true }) : await text(process.stdin);
  if (secret.trim() === '') throw new UsageError('Standard input is empty.');
  return secret;
}

/** A complete key value, alone or after Bearer. @throws UsageError */
export async function readKeyValue(): Promise<string> {
  const key = (await readSecret('The key (not shown): ')).trim().replace(/^Bearer\s+/i, '');
  if (isWellFormedKey(key, key.slice(0, key.indexOf('_')))) return key;
  throw new UsageError('Standard input has no complete key value.');
}

/** Asks at the terminal; `hidden` does not show what is typed. Ctrl-C is an empty answer. */
export async function prompt(question: string, { hidden = false } = {}): Promise<string> {
  const output = hidden ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr;
  const terminal = createInterface({ input: process.stdin, output, terminal: true });
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  if (hidden) process.stderr.write(question);
  try {
    const answer = await Promise.race([terminal.question(hidden ? '' : question), closed]);
    // What is typed ends the line, unless it is hidden or there is none.
    if (hidden || answer === '') process.stderr.write('\n');
    return answer;
  } finally {
    terminal.close();
  }
}
