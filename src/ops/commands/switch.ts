import { existsSync } from 'node:fs';
import { Argument } from '@commander-js/extra-typings';
import { parseConfig, parseMode } from '../../config.ts';
import { parseBlockedKeys } from '../../domain/blocked-keys.ts';
import { CommandFailure, configOption, operatorCommand, parseOption } from '../command.ts';
import { print } from '../output.ts';
import { runWrangler } from '../wrangler.ts';
import { agentsConfigOf, MAIN_CONFIG, readWranglerConfig } from '../wrangler-config.ts';

/** The secrets that act without a deployment, and what is a value of each. */
const SWITCHES = {
  MODE: (value: string) => parseMode(value),
  BLOCKED_KEYS: (value: string, file: string) =>
    parseBlockedKeys(value, parseConfig(readWranglerConfig(file).vars).keyPrefix),
};

export const switchCommand = operatorCommand({
  name: 'switch',
  summary: 'pause the API or block keys, on both Workers',
  purpose:
    'Sets MODE or BLOCKED_KEYS on the deployed Worker, and on that for AI agents if it is deployed. The value is the whole list of blocked keys; a comma empties it. Needs wrangler to be signed in, or CLOUDFLARE_API_TOKEN.',
  usage: 'MODE|BLOCKED_KEYS VALUE... [--config FILE]',
  example: 'switch MODE paused',
  failure: 'a Worker was not changed; the message names it, and a second call does no harm',
})
  .addArgument(new Argument('<NAME>', 'Which secret to set.').choices(['MODE', 'BLOCKED_KEYS']))
  .argument('<VALUE...>', 'MODE: open or paused. BLOCKED_KEYS: hints or ids of keys.')
  .addOption(configOption)
  .action(async (name, values, { config: file = MAIN_CONFIG }) => {
    const value = values.join(' ');
    parseOption(name, () => SWITCHES[name](value, file));
    await put(file, name, value);
    const agents = agentsConfigOf(file);
    if (!existsSync(agents)) return;
    if (await isDeployed(agents)) await put(agents, name, value);
    else await print(`${nameOf(agents)} is not deployed.\n`);
  });

const nameOf = (config: string) => readWranglerConfig(config).name;

async function put(config: string, name: string, value: string): Promise<void> {
  const { code, output } = await runWrangler(['secret', 'put', name, '-c', config], value);
  if (code !== 0) throw new CommandFailure(`${name} was not set on ${nameOf(config)}:\n${output}`);
  await print(`${name} is set on ${nameOf(config)}.\n`);
}

/** Without this check, wrangler would create an empty Worker to hold the secret. @throws CommandFailure */
async function isDeployed(config: string): Promise<boolean> {
  const { code, output } = await runWrangler(['secret', 'list', '-c', config]);
  if (code === 0) return true;
  if (output.includes(`Worker "${nameOf(config)}" not found`)) return false;
  throw new CommandFailure(`It is not known whether ${nameOf(config)} is deployed:\n${output}`);
}
