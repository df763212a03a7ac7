import { Argument } from '@commander-js/extra-typings';
import { parseMode } from '../../config.ts';
import { parseBlockedKeys } from '../../domain/blocked-keys.ts';
import { CommandFailure, deploymentOption, operatorCommand, parseOption } from '../command.ts';
import { agentsWorkerOf, configOf, type Deployment, readDeployment, workerOf } from '../deployment.ts';
import { print } from '../output.ts';
import { runWrangler } from '../wrangler.ts';

/** The secrets that act without a deployment, and what is a value of each. */
const SWITCHES = {
  MODE: (value: string) => parseMode(value),
  BLOCKED_KEYS: (value: string, deployment: Deployment) => parseBlockedKeys(value, configOf(deployment).keyPrefix),
};

export const switchCommand = operatorCommand({
  name: 'switch',
  summary: 'pause the API or block keys, on both Workers',
  purpose:
    'Sets MODE or BLOCKED_KEYS on the deployed Worker, and on that for AI agents if it is deployed. The value is the whole list of blocked keys; a comma empties it. Needs wrangler to be signed in, or CLOUDFLARE_API_TOKEN.',
  usage: 'MODE|BLOCKED_KEYS VALUE... [--deployment NAME]',
  example: 'switch MODE paused',
  failure: 'a Worker was not changed; the message names it, and a second call does no harm',
})
  .addArgument(new Argument('<NAME>', 'Which secret to set.').choices(['MODE', 'BLOCKED_KEYS']))
  .argument('<VALUE...>', 'MODE: open or paused. BLOCKED_KEYS: hints or ids of keys.')
  .addOption(deploymentOption)
  .action(async (name, values, options) => {
    const deployment = await readDeployment(options.deployment);
    const value = values.join(' ');
    parseOption(name, () => SWITCHES[name](value, deployment));
    const wrangler = (args: string[], input = '') =>
      runWrangler(args, input, { CLOUDFLARE_ACCOUNT_ID: deployment.account });
    const put = async (worker: string) => {
      const { code, output } = await wrangler(['secret', 'put', name, '--name', worker], value);
      if (code !== 0) throw new CommandFailure(`${name} was not set on ${worker}:\n${output}`);
      await print(`${name} is set on ${worker}.\n`);
    };
    /** Without this check, wrangler would create an empty Worker to hold the secret. @throws CommandFailure */
    const isDeployed = async (worker: string) => {
      const { code, output } = await wrangler(['secret', 'list', '--name', worker]);
      if (code === 0) return true;
      if (output.includes(`Worker "${worker}" not found`)) return false;
      throw new CommandFailure(`It is not known whether ${worker} is deployed:\n${output}`);
    };
    await put(workerOf(deployment));
    const agents = agentsWorkerOf(deployment);
    if (await isDeployed(agents)) await put(agents);
    else await print(`${agents} is not deployed.\n`);
  });
