import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { CloudflareApi } from '../cloudflare-api.ts';
import { CommandFailure } from '../failures.ts';
import { prompt } from '../input.ts';
import { refuseOtherSchema } from '../migrations.ts';
import { RemoteD1 } from '../remote-d1.ts';
import { spawnWrangler } from '../wrangler.ts';
import {
  deployedBindings,
  findZone,
  hostOwner,
  removedAdapters,
  risksOf,
  routeOwner,
  variableChanges,
} from './deployed-state.ts';
import { agentsRouteOf, readDeployment } from './deployment-file.ts';
import { writeAdapterConfigs, writeConfigs } from './render-configs.ts';

/** What a deployment does to the world; tests replace it. */
export interface Tools {
  /** @throws Error if the program fails */
  run: (program: 'build' | 'wrangler', args: readonly string[]) => Promise<void>;
  api: (account: string | undefined) => CloudflareApi;
  print: (line: string) => void;
  agrees: typeof agrees;
  fetch: typeof fetch;
}

/** Builds a deployment, shows what changes, asks what must be asked, migrates, and deploys its Workers. */
export async function deployWorkers(
  name: string,
  { migrate, dryRun, secretsFile }: { migrate: boolean; dryRun: boolean; secretsFile?: string | undefined },
  { run, api, print, agrees: isAgreed, fetch: send }: Tools,
): Promise<void> {
  const deployment = await readDeployment(name);
  const { main, agents } = writeConfigs(name, deployment);
  const adapters = await writeAdapterConfigs(name, deployment);
  await run('build', ['--deployment', name]);

  const [account, root] = [api(deployment.account), api(undefined)];
  const zoneId = await findZone(root, deployment.account, deployment.zone);
  if (zoneId === undefined) throw new CommandFailure(`The token sees no zone ${deployment.zone}.`);
  await refuseOtherSchema(new RemoteD1(account, deployment.database));
  const deployed = await deployedBindings(account, main.name);
  if (!deployment.agents && (await deployedBindings(account, agents.name)))
    throw new CommandFailure(
      `${agents.name} is deployed, and would keep its code: set agents = true, or delete it with npx wrangler delete --name ${agents.name}`,
    );
  const taken = deployment.agents ? await routeOwner(root, zoneId, deployment) : undefined;
  if (taken !== undefined)
    throw new CommandFailure(
      `The route ${agentsRouteOf(deployment)} is assigned to ${taken}: delete that route first.`,
    );
  if (!deployed) print(`${main.name} is new.`);
  for (const change of variableChanges(deployed ?? [], main.vars)) print(change);
  for (const worker of await removedAdapters(account, deployment))
    print(
      `${worker} is deployed, and not in the file: it still connects its organization. See src/adapters/README.md.`,
    );
  const owner = await hostOwner(account, root, zoneId, deployment);
  const risks = [
    ...(deployed ? risksOf(deployed, main) : []),
    ...(owner === undefined ? [] : [`${deployment.host} is taken from ${owner}.`]),
  ];
  for (const risk of risks) print(risk);
  if (dryRun) return;
  if (risks.length > 0 && !(await isAgreed('Type yes to deploy this: ')))
    throw new CommandFailure(`${name} was not deployed.`);

  if (migrate) await run('wrangler', ['d1', 'migrations', 'apply', 'DB', '--remote', '-c', main.path]);
  // The secrets are in the same upload: no version starts without them.
  await run('wrangler', ['deploy', '-c', main.path, ...(secretsFile ? ['--secrets-file', secretsFile] : [])]);
  if (deployment.agents) await run('wrangler', ['deploy', '-c', agents.path]);
  // After the main Worker, to whose entry point they are bound.
  for (const { path } of adapters) await run('wrangler', ['deploy', '-c', path]);
  await waitForHealth(`https://${deployment.host}/healthz`, send);
  print(`${name} is deployed: https://${deployment.host}`);
}

/** Runs a program of a deployment. Only wrangler gets the token. */
export const runStep: Tools['run'] = async (program, args) => {
  const env = { ...process.env, CLOUDFLARE_API_TOKEN: undefined };
  const child =
    program === 'wrangler'
      ? // Without a terminal it asks nothing: everything was agreed to before.
        spawnWrangler([...args], { stdio: ['ignore', 'inherit', 'inherit'] })
      : spawn(process.execPath, ['src/dev/build.ts', ...args], { stdio: 'inherit', env });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new CommandFailure(`${program} ${args.join(' ')} failed. The deployment ends here.`);
};

/** Asks at the terminal. @throws CommandFailure without one: a job of CI must not decide this */
export async function agrees(question: string): Promise<boolean> {
  if (process.stdin.isTTY) return (await prompt(question)).trim() === 'yes';
  throw new CommandFailure('This needs a confirmation: run the command in a terminal.');
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
      throw new CommandFailure(
        `${url} did not respond with 200 within 10 minutes. The Workers are deployed; a certificate may take longer: run the command again.`,
      );
    await setTimeout(HEALTH_INTERVAL_MS);
  }
}
