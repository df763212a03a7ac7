import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { Argument } from '@commander-js/extra-typings';
import { parseMode } from '../../config.ts';
import { parseBlockedKeys } from '../../domain/blocked-keys.ts';
import { CommandFailure, operatorCommand, UsageError } from '../command.ts';
import { AGENTS_CONFIG, MAIN_CONFIG, readWranglerConfig } from '../local.ts';
import { print } from '../output.ts';
import { spawnWrangler } from '../wrangler.ts';

/** The secrets that act without a deployment, and what is a value of each. */
const SWITCHES = {
  MODE: parseMode,
  BLOCKED_KEYS: (value: string) => parseBlockedKeys(value, readWranglerConfig(MAIN_CONFIG).vars['KEY_PREFIX'] ?? ''),
};
const NAMES = ['MODE', 'BLOCKED_KEYS'] as const;

export const switchCommand = operatorCommand({
  name: 'switch',
  summary: 'pause the API or block keys, on both Workers',
  purpose:
    'Sets MODE or BLOCKED_KEYS on the deployed Worker, and on that for AI agents if it is deployed. The value is the whole list of blocked keys; a comma empties it. Needs wrangler to be signed in, or CLOUDFLARE_API_TOKEN.',
  usage: 'MODE|BLOCKED_KEYS VALUE...',
  example: 'switch MODE paused',
  failure: 'a Worker was not changed; the message names it, and a second call does no harm',
})
  .addArgument(new Argument('<NAME>', 'Which secret to set.').choices(NAMES))
  .argument('<VALUE...>', 'MODE: open or paused. BLOCKED_KEYS: hints or ids of keys.')
  .action(run);

async function run(name: (typeof NAMES)[number], values: string[]): Promise<void> {
  const value = values.join(' ');
  try {
    SWITCHES[name](value);
  } catch (err) {
    if (err instanceof RangeError) throw new UsageError(`${name}: ${err.message}.`);
    throw err;
  }
  await put(MAIN_CONFIG, name, value);
  if (await isDeployed(AGENTS_CONFIG)) await put(AGENTS_CONFIG, name, value);
  else await print(`${nameOf(AGENTS_CONFIG)} is not deployed.\n`);
}

const nameOf = (config: string) => readWranglerConfig(config).name;

/** @throws CommandFailure */
async function put(config: string, name: string, value: string): Promise<void> {
  const { code, output } = await wrangler(['secret', 'put', name, '-c', config], value);
  if (code !== 0) throw new CommandFailure(`${name} was not set on ${nameOf(config)}:\n${output}`);
  await print(`${name} is set on ${nameOf(config)}.\n`);
}

/** Without this check, wrangler would create an empty Worker to hold the secret. @throws CommandFailure */
async function isDeployed(config: string): Promise<boolean> {
  const { code, output } = await wrangler(['secret', 'list', '-c', config]);
  if (code === 0) return true;
  if (output.includes(`Worker "${nameOf(config)}" not found`)) return false;
  throw new CommandFailure(`It is not known whether ${nameOf(config)} is deployed:\n${output}`);
}

async function wrangler(args: string[], input = ''): Promise<{ code: number | null; output: string }> {
  const child = spawnWrangler(args, { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin?.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    child.stdout ? text(child.stdout) : '',
    child.stderr ? text(child.stderr) : '',
    once(child, 'close'),
  ]);
  return { code, output: `${stdout}${stderr}`.trim() };
}
