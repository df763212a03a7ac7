import { setTimeout } from 'node:timers/promises';
import { CommandFailure } from '../failures.ts';
import { refuseOtherSchema } from '../migrations.ts';
import { RemoteD1 } from '../remote-d1.ts';
import { announce } from '../wait.ts';
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
import type { Tools } from './deployment-tools.ts';
import { writeAdapterConfigs, writeConfigs } from './render-configs.ts';

/** Builds a deployment, shows what changes, asks what must be asked, migrates, and deploys its Workers. */
export async function deployWorkers(
  name: string,
  { migrate, dryRun, secretsFile }: { migrate: boolean; dryRun: boolean; secretsFile?: string | undefined },
  { run, api, print, agrees: isAgreed, fetch: send }: Tools,
): Promise<void> {
  const deployment = await readDeployment(name);
  const { main, agents } = writeConfigs(name, deployment);
  const adapters = await writeAdapterConfigs(name, deployment);
  const step = (what: string, ...[program, args]: Parameters<Tools['run']>) =>
    announce(print, what, () => run(program, args));
  await step(`Building ${name}`, 'build', ['--deployment', name]);

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
  for (const line of deployed ? variableChanges(deployed, main.vars) : [`${main.name} is new.`]) print(line);
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

  if (migrate)
    await step('Migrating the database', 'wrangler', ['d1', 'migrations', 'apply', 'DB', '--remote', '-c', main.path]);
  const deploy = (worker: { name: string; path: string }, ...more: string[]) =>
    step(`Deploying ${worker.name}`, 'wrangler', ['deploy', '-c', worker.path, ...more]);
  // The secrets are in the same upload: no version starts without them.
  await deploy(main, ...(secretsFile ? ['--secrets-file', secretsFile] : []));
  if (deployment.agents) await deploy(agents);
  // After the main Worker, to whose entry point they are bound.
  for (const adapter of adapters) await deploy(adapter);
  const health = `https://${deployment.host}/healthz`;
  await announce(print, `Waiting for ${health} (a new host takes up to ten minutes)`, () => untilHealthy(health, send));
  print(`${name} is deployed: https://${deployment.host}`);
}

/** A new host needs a certificate. */
const HEALTH_TIMEOUT_MS = 10 * 60_000;
const HEALTH_INTERVAL_MS = 3_000;

async function untilHealthy(url: string, send: typeof fetch): Promise<void> {
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
