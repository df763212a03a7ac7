import { setTimeout } from 'node:timers/promises';
import type { CloudflareApi } from '../ops/cloudflare-api.ts';
import { CommandFailure } from '../ops/command.ts';
import { agentsWorkerOf, readDeployment } from '../ops/deployment.ts';
import { deployedBindings, hostOwner, risksOf, variableChanges } from './deployed.ts';
import { writeConfigs } from './render-configs.ts';

/** What a release does to the world; tests replace it. */
export interface Tools {
  /** @throws Error if the program fails */
  run: (program: 'build' | 'wrangler', args: readonly string[]) => Promise<void>;
  api: (account: string | undefined) => CloudflareApi;
  print: (line: string) => void;
  /** Whether the operator agrees. @throws CommandFailure if no one can be asked */
  agrees: (question: string) => Promise<boolean>;
  fetch: typeof fetch;
}

/** Builds a deployment, shows what changes, asks what must be asked, migrates, and deploys its Workers. */
export async function release(
  name: string,
  { migrate, dryRun }: { migrate: boolean; dryRun: boolean },
  { run, api, print, agrees, fetch: send }: Tools,
): Promise<void> {
  const deployment = await readDeployment(name);
  const { main, agents } = writeConfigs(name, deployment);
  await run('build', ['--deployment', name]);

  const account = api(deployment.account);
  const deployed = await deployedBindings(account, main.name);
  if (!deployment.agents && (await deployedBindings(account, agents.name)))
    throw new CommandFailure(
      `${agentsWorkerOf(deployment)} is deployed, and would keep its code: set agents = true, or delete it with npx wrangler delete --name ${agents.name}`,
    );
  if (!deployed) print(`${main.name} is new.`);
  for (const change of variableChanges(deployed ?? [], main.vars)) print(change);
  const owner = await hostOwner(account, api(undefined), deployment);
  const risks = [
    ...(deployed ? risksOf(deployed, main) : []),
    ...(owner === undefined ? [] : [`${deployment.host} is taken from ${owner}.`]),
  ];
  for (const risk of risks) print(risk);
  if (dryRun) return;
  if (risks.length > 0 && !(await agrees('Type yes to deploy this: ')))
    throw new CommandFailure(`${name} was not deployed.`);

  if (migrate) await run('wrangler', ['d1', 'migrations', 'apply', 'DB', '--remote', '-c', main.path]);
  await run('wrangler', ['deploy', '-c', main.path]);
  if (deployment.agents) await run('wrangler', ['deploy', '-c', agents.path]);
  await waitForHealth(`https://${deployment.host}/healthz`, send);
  print(`${name} is deployed: https://${deployment.host}`);
}

/** A new host needs a certificate. */
const HEALTH_TIMEOUT_MS = 10 * 60_000;
const HEALTH_INTERVAL_MS = 3_000;

async function waitForHealth(url: string, send: typeof fetch): Promise<void> {
  const until = Date.now() + HEALTH_TIMEOUT_MS;
  for (;;) {
    const response = await send(url, { redirect: 'error' }).catch(() => undefined);
    if (response?.ok) return;
    if (Date.now() > until)
      throw new CommandFailure(`${url} did not respond with 200 within 10 minutes. The Workers are deployed.`);
    await setTimeout(HEALTH_INTERVAL_MS);
  }
}
