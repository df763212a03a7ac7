import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { adapterConfig, observabilityOf } from '../adapters.ts';
import { wranglerConfig } from '../wrangler-config.ts';
import { agentsRouteOf, agentsWorkerOf, type Deployment, variablesOf, workerOf } from './deployment-file.ts';

/** The configurations of the main Worker and the Worker for AI agents; without a deployment, of the local ones. */
export function renderConfigs(name?: string, deployment?: Deployment) {
  const { name: local, main: entry, build, d1_databases, assets, ...rest } = wranglerConfig;
  const { compatibility_flags, durable_objects, migrations, triggers, ...common } = rest;
  const worker = deployment ? workerOf(deployment) : local;
  const settings = {
    ...common,
    ...(deployment && { account_id: deployment.account, observability: observabilityOf(deployment) }),
  };
  const [database] = d1_databases;
  const main = {
    ...settings,
    name: worker,
    main: resolve(entry),
    compatibility_flags,
    vars: deployment ? variablesOf(deployment) : {},
    assets: { ...assets, directory: resolve(assets.directory) },
    d1_databases: [
      {
        ...database,
        // Wrangler resolves paths from the directory of the file.
        migrations_dir: resolve(database.migrations_dir),
        ...(deployment && { database_name: deployment.name, database_id: deployment.database }),
      },
    ],
    durable_objects,
    migrations,
    triggers,
    build: name === undefined ? build : { command: `node src/dev/render.ts --deployment ${name}` },
    ...(deployment && { routes: [{ pattern: deployment.host, custom_domain: true }] }),
  };
  const agents = {
    ...settings,
    name: deployment ? agentsWorkerOf(deployment) : `${worker}-agents`,
    main: resolve('src/agents/index.ts'),
    services: [{ binding: 'API', service: worker, entrypoint: 'Api' }],
    // It is served before the custom domain of the host.
    ...(deployment && { routes: [{ pattern: agentsRouteOf(deployment), zone_name: deployment.zone }] }),
  };
  return { main, agents };
}

/** Writes both configurations, of a deployment or the local ones, and returns their paths. */
export function writeConfigs(name?: string, deployment?: Deployment) {
  const configs = renderConfigs(name, deployment);
  const write = writerOf(name);
  return { main: write('main', configs.main), agents: write('agents', configs.agents) };
}

/** Writes the configurations of the Workers of a deployment's adapters. @throws CommandFailure */
export const writeAdapterConfigs = (name: string, deployment: Deployment) =>
  Promise.all(
    Object.keys(deployment.adapters).map(async (adapter) =>
      writerOf(name)(`adapter-${adapter}`, await adapterConfig(deployment, adapter)),
    ),
  );

function writerOf(name: string | undefined) {
  const directory = name === undefined ? 'build/local' : join('build/deployments', name);
  mkdirSync(directory, { recursive: true });
  return <T extends object>(worker: string, config: T) => {
    const path = join(directory, `${worker}.json`);
    const content = JSON.stringify(config, null, 2);
    // Another process may read it: the tests run several at the same time.
    if (!existsSync(path) || readFileSync(path, 'utf8') !== content) writeFileSync(path, content);
    return { path, ...config };
  };
}
