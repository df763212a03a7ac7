import { globSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as z from 'zod';
import { type AdapterDefinition, COMMON_VARIABLES } from '../adapters/kit/settings.ts';
import { chooseName, type Deployment, jurisdictionOf, workerOf } from './deploy/deployment-file.ts';
import { CommandFailure, UsageError } from './failures.ts';
import { wranglerConfig } from './wrangler-config.ts';

export type DeployedAdapter = Deployment['adapters'][string];

export const adapterWorkerOf = ({ name }: Deployment, adapter: string) => `${name}-adapter-${adapter}`;

/** The adapter with this name; without a name, the only one. @throws UsageError */
export function adapterNamed({ adapters }: Deployment, given: string | undefined): [string, DeployedAdapter] {
  const none = 'The deployment has no adapter. See src/adapters/README.md.';
  const name = chooseName('adapter', Object.keys(adapters), given, none);
  const adapter = adapters[name];
  if (!adapter) throw new UsageError(none);
  return [name, adapter];
}

/** Loads what describes a PSA. Not an import: each adapter can be deleted. @throws CommandFailure */
export async function definitionOf({ psa }: Pick<DeployedAdapter, 'psa'>): Promise<AdapterDefinition> {
  const known = globSync('src/adapters/*/definition.ts').map((file) => basename(dirname(file)));
  const fault = psa === '' ? 'Name the PSA of the adapter' : `There is no adapter for the PSA ${psa}`;
  if (!known.includes(psa)) throw new CommandFailure(`${fault}: ${known.sort().join(', ')}.`);
  const file = pathToFileURL(resolve('src/adapters', psa, 'definition.ts'));
  const { definition }: { definition: AdapterDefinition } = await import(file.href);
  return definition;
}

/** What is wrong with the variables of an adapter, in a sentence for each. */
export const faultsOf = (
  { issues }: z.ZodError,
  { secrets }: AdapterDefinition,
  given: Readonly<Record<string, string>>,
) =>
  issues
    .flatMap((issue) => {
      if (issue.code === 'unrecognized_keys')
        return issue.keys.map((key) =>
          key in secrets.shape || key === 'RESUME'
            ? `${key} is a secret.`
            : `${key} is not a variable of this adapter.`,
        );
      const name = issue.path.join('.');
      return given[name] ? `${name}: ${issue.message}.` : `${name} is missing.`;
    })
    .join(' ');

/** The variables of an adapter's Worker. @throws CommandFailure for a variable that is unknown, missing or wrong */
export async function adapterVariables(deployment: Deployment, name: string): Promise<Record<string, string>> {
  const [, adapter] = adapterNamed(deployment, name);
  const definition = await definitionOf(adapter);
  const vars = { ...adapter.vars, ORGANIZATION: adapter.organization };
  const known = definition.variables.safeExtend(COMMON_VARIABLES.omit({ RESUME: true }).shape).strict();
  const { error } = known.safeParse(vars);
  if (error)
    throw new CommandFailure(`The variables of the adapter ${name} are wrong: ${faultsOf(error, definition, vars)}`);
  return { ...vars, ADAPTER: adapter.psa, JURISDICTION: jurisdictionOf(deployment) ?? '' };
}

/** The same for each Worker of a deployment. */
export const observabilityOf = ({ traces = false }: Deployment) => ({
  ...wranglerConfig.observability,
  traces: { ...wranglerConfig.observability.traces, enabled: traces },
});

/** The configuration of an adapter's Worker. It has no URL: its cron trigger starts its Durable Object. */
export async function adapterConfig(deployment: Deployment, name: string) {
  const [, { psa, organization, administrators }] = adapterNamed(deployment, name);
  const { compatibility_date } = wranglerConfig;
  const observability = observabilityOf(deployment);
  const props = { organization, administrators };
  return {
    name: adapterWorkerOf(deployment, name),
    main: resolve('src/adapters', psa, 'index.ts'),
    account_id: deployment.account,
    ...{ compatibility_date, observability, workers_dev: false, preview_urls: false, minify: true },
    vars: await adapterVariables(deployment, name),
    services: [{ binding: 'CONNECTION', service: workerOf(deployment), entrypoint: 'Connection', props }],
    durable_objects: { bindings: [{ name: 'ADAPTER_OBJECT', class_name: 'Adapter' }] },
    migrations: [{ tag: 'v1', new_sqlite_classes: ['Adapter'] }],
    triggers: { crons: ['* * * * *'] },
  };
}
