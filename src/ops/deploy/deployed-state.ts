import * as z from 'zod';
import { adapterWorkerOf } from '../adapters.ts';
import { type CloudflareApi, notFound, resultOf } from '../cloudflare-api.ts';
import { agentsRouteOf, agentsWorkerOf, type Deployment, workerOf } from './deployment-file.ts';
import type { renderConfigs } from './render-configs.ts';

const binding = z.looseObject({
  type: z.string(),
  name: z.string(),
  text: z.string().optional(),
  id: z.string().optional(),
});
type Binding = z.output<typeof binding>;

/** The bindings and variables of a deployed Worker; undefined if there is none with this name. */
export async function deployedBindings(api: CloudflareApi, worker: string): Promise<Binding[] | undefined> {
  const settings = z.object({ bindings: z.array(binding) });
  return (await resultOf(api, `/workers/scripts/${worker}/settings`, settings).catch(notFound))?.bindings;
}

/** The deployed Workers of adapters that the file of the deployment does not contain. */
export async function removedAdapters(api: CloudflareApi, deployment: Deployment): Promise<string[]> {
  const workers = await resultOf(api, '/workers/scripts', z.array(z.object({ id: z.string() })));
  const adapters = Object.keys(deployment.adapters).map((adapter) => adapterWorkerOf(deployment, adapter));
  const isAdapter = (id: string) => id.startsWith(adapterWorkerOf(deployment, '')) && !adapters.includes(id);
  return workers.map(({ id }) => id).filter(isAdapter);
}

/** A line for each variable that a deployment would add, change or remove. */
export function variableChanges(deployed: readonly Binding[], vars: Readonly<Record<string, string>>): string[] {
  const before = new Map(deployed.flatMap(({ type, name, text }) => (type === 'plain_text' ? [[name, text]] : [])));
  const names = [...new Set([...before.keys(), ...Object.keys(vars)])].sort();
  return names.flatMap((name) => {
    const [from, to] = [before.get(name), vars[name]];
    if (from === to) return [];
    if (to === undefined) return [`${name} "${from}" is removed.`];
    return [from === undefined ? `${name} "${to}" is added.` : `${name} "${from}" becomes "${to}".`];
  });
}

type MainConfig = ReturnType<typeof renderConfigs>['main'];

/** A sentence for each change that loses something. */
export function risksOf(deployed: readonly Binding[], { vars, d1_databases }: MainConfig): string[] {
  const of = (name: string) => deployed.find((one) => one.name === name);
  const compare = (what: string, from: string | undefined, to: string | undefined, effect: string) =>
    from === to ? [] : [`The ${what} changes from ${from || 'none'} to ${to || 'none'}: ${effect}`];
  return [
    ...compare('key prefix', of('KEY_PREFIX')?.text, vars['KEY_PREFIX'], 'existing keys stop working.'),
    ...compare(
      'jurisdiction',
      of('JURISDICTION')?.text,
      vars['JURISDICTION'],
      'the objects are new and empty, so limits start again, and the push repeats or loses its place.',
    ),
    ...compare('database', of('DB')?.id, d1_databases[0]?.database_id, 'the service has other data.'),
  ];
}

/** The id of an active zone of the account. */
export async function findZone(root: CloudflareApi, account: string, name: string): Promise<string | undefined> {
  const shape = z.array(z.object({ id: z.string() }));
  return (await resultOf(root, `/zones?name=${name}&account.id=${account}&status=active`, shape))[0]?.id;
}

/** What has the host of a deployment: another Worker or a DNS record. Wrangler would take it without a question. */
export async function hostOwner(
  account: CloudflareApi,
  root: CloudflareApi,
  zoneId: string,
  deployment: Deployment,
): Promise<string | undefined> {
  const { host } = deployment;
  const shape = z.array(z.object({ hostname: z.string(), service: z.string() }));
  const domains = await resultOf(account, `/workers/domains?hostname=${host}`, shape);
  const domain = domains.find(({ hostname }) => hostname === host);
  // Cloudflare made the DNS record of a Worker's domain.
  if (domain) return domain.service === workerOf(deployment) ? undefined : `the Worker ${domain.service}`;
  const records = z.array(z.object({ type: z.string(), content: z.string() }));
  const [record] = await resultOf(root, `/zones/${zoneId}/dns_records?name=${host}`, records);
  return record && `the DNS record ${record.type} ${record.content}`;
}

/** Who has the route of the Worker for AI agents. Wrangler would refuse it after it has deployed the main Worker. */
export async function routeOwner(
  root: CloudflareApi,
  zoneId: string,
  deployment: Deployment,
): Promise<string | undefined> {
  const shape = z.array(z.object({ pattern: z.string(), script: z.string().nullish() }));
  const routes = await resultOf(root, `/zones/${zoneId}/workers/routes`, shape);
  const route = routes.find(({ pattern }) => pattern === agentsRouteOf(deployment));
  return route && route.script !== agentsWorkerOf(deployment) ? (route.script ?? 'no Worker') : undefined;
}
