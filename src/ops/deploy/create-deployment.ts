import * as z from 'zod';
import { ApiError, type CloudflareApi, resultOf } from '../cloudflare-api.ts';
import { CommandFailure } from '../failures.ts';
import { accessOf, denialOf } from './access-settings.ts';
import { type Resource, resourcesOf } from './cloudflare-resources.ts';
import { deployWorkers } from './deploy-workers.ts';
import { deployedBindings, findZone, hostOwner, routeOwner } from './deployed-state.ts';
import * as files from './deployment-file.ts';
import { type Deployment, deploymentShape } from './deployment-file.ts';
import type { Tools } from './deployment-tools.ts';
import type { Ask } from './setup-questions.ts';

export interface SetupTools extends Tools {
  ask: Ask;
  /** Shows secrets until they are stored, and returns a file with them. */
  storeSecrets: (secrets: Record<string, string>) => Promise<string>;
}

const yesOrNo = z.enum(['yes', 'no']);

/** Creates on Cloudflare what a deployment lacks, and deploys it. A setup that ended anywhere is completed by the next one. */
export async function createDeployment(
  name: string,
  { plan, psa }: { plan: boolean; psa: boolean },
  tools: SetupTools,
): Promise<Deployment | undefined> {
  const { print, agrees } = tools;
  const known = await knownOf(name, tools);
  const { deployment, api } = known;
  const { onCloudflare, directory } = resourcesOf(known);
  const { absent, bound } = await survey(known, [...onCloudflare, directory]);
  await files.requireDistinctDeployments({ [name]: deployment });
  for (const resource of absent) {
    await resource.ask?.();
    if (await resource.exists()) absent.delete(resource);
  }
  const [main, agents] = [files.workerOf(deployment), files.agentsWorkerOf(deployment)];
  print(`In the account ${deployment.account}, zone ${deployment.zone}:`);
  for (const resource of [...onCloudflare, directory])
    print(`  ${absent.has(resource) ? 'create' : 'exists'}  ${resource.what()}`);
  print(`  deploy  ${main}${deployment.agents ? ` and ${agents}` : ''}`);
  const denial = denialOf(await accessOf(api), deployment.zone);
  if (denial !== undefined) print(denial);
  if (plan) return undefined;
  if (!(await agrees('Type yes to go on: '))) throw new CommandFailure('Nothing was created.');

  for (const resource of onCloudflare) if (absent.has(resource)) await create(resource, print);
  print(`Wrote ${await files.writeDeployment(name, deployment)}.`);
  const unset = psa ? ['PSA_SECRET', 'WEBHOOK_SECRET'].filter((secret) => !bound?.includes(secret)) : [];
  const random = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  const secrets = Object.fromEntries(unset.map((secret) => [secret, `whsec_${random()}`]));
  const secretsFile = unset.length > 0 ? await tools.storeSecrets(secrets) : undefined;
  // Everything that would need an answer was refused above.
  await deployWorkers(name, { migrate: true, dryRun: false, secretsFile }, { ...tools, agrees: async () => false });
  if (absent.has(directory)) await create(directory, print);
  return deployment;
}

/** The deployment by its file, by its deployed Worker, or as answered, and where it is. */
async function knownOf(name: string, { ask, api: apiOf }: SetupTools) {
  const root = apiOf(undefined);
  const file = await files.findDeployment(name);
  const account = file?.account ?? (await chooseAccount(root, ask));
  const api = apiOf(account);
  const host = file?.host ?? (await ask('host', deploymentShape.shape.host));
  const zone = await zoneOf(root, account, host);
  const deployment = file ?? (await chooseSettings(name, { account, zone: zone.name, host }, api, ask));
  if (deployment.vars['ADMIN_ISSUER'] !== undefined)
    throw new CommandFailure(
      'Setup is for a sign-in with Cloudflare Access, and ADMIN_ISSUER is set: run npm run deploy.',
    );
  return { deployment, zoneId: zone.id, api, root, ask };
}

/**
 * The resources that do not exist, and the names of what is bound to the deployed Worker.
 * @throws CommandFailure if the token lacks a permission, or something belongs to another service
 */
async function survey(
  { deployment, zoneId, api, root }: Awaited<ReturnType<typeof knownOf>>,
  resources: readonly Resource[],
): Promise<{ absent: Set<Resource>; bound: string[] | undefined }> {
  const lacking = new Set<string>();
  const look = async <T>(read: () => Promise<T>) =>
    read().catch((err: unknown) => {
      if (!(err instanceof ApiError && err.failure.permission)) throw err;
      lacking.add(err.failure.permission);
    });
  const { host } = deployment;
  const owner = await look(() => hostOwner(api, root, zoneId, deployment));
  if (owner !== undefined) throw new CommandFailure(`${host} is in use, by ${owner}. Take another host.`);
  const script = await look(() => routeOwner(root, zoneId, deployment));
  if (script !== undefined) throw new CommandFailure(`The route of ${host}/mcp is in use, by ${script}.`);
  const absent = new Set<Resource>();
  for (const resource of resources) if (!(await look(resource.exists))) absent.add(resource);
  const main = files.workerOf(deployment);
  const worker = await look(() => deployedBindings(api, main));
  if (lacking.size > 0)
    throw new CommandFailure(`The token lacks these permissions, and nothing was created: ${[...lacking].join('; ')}.`);
  if (worker && worker.find((one) => one.name === 'DB')?.id !== deployment.database)
    throw new CommandFailure(`The Worker ${main} has another database. Nothing was created.`);
  return { absent, bound: worker?.map((one) => one.name) };
}

async function chooseAccount(root: CloudflareApi, ask: Ask): Promise<string> {
  const accounts = await resultOf(root, '/accounts', z.array(z.object({ id: z.string() })));
  const ids = accounts.map(({ id }) => id);
  return ids.length === 1 ? String(ids[0]) : ask('account', z.enum(ids));
}

async function zoneOf(root: CloudflareApi, account: string, host: string) {
  for (let name = host; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
    const id = await findZone(root, account, name);
    if (id !== undefined) return { id, name };
  }
  throw new CommandFailure(`The account has no active domain for ${host}, or the token does not include it.`);
}

/** The settings of a deployment without a file: those of the deployed Worker, or as answered. */
async function chooseSettings(
  name: string,
  known: Pick<Deployment, 'account' | 'zone' | 'host'>,
  api: CloudflareApi,
  ask: Ask,
): Promise<Deployment> {
  const isFirst = name === 'production';
  const place = await ask('place', deploymentShape.shape.place);
  const ids = { name: isFirst ? 'ticket-write-back' : `ticket-write-back-${name}`, place, database: '' };
  const empty = { ...known, ...ids, agents: false, adapters: {}, vars: {} };
  const deployed = await deployedBindings(api, files.workerOf(empty));
  const vars: Record<string, string> = {};
  if (deployed) {
    const { KEY_PREFIX: standard, ...derived } = files.variablesOf({ ...empty, team: '', audience: '' });
    for (const { type, name: variable, text = '' } of deployed)
      if (type === 'plain_text' && !(variable in derived)) vars[variable] = text;
    if (vars['KEY_PREFIX'] === standard) delete vars['KEY_PREFIX'];
    const agents = (await deployedBindings(api, files.agentsWorkerOf(empty))) !== undefined;
    return { ...empty, agents, vars };
  }
  if (!isFirst) vars['KEY_PREFIX'] = name.replaceAll('-', '');
  if ((await ask('cloudflare-plan', z.enum(['free', 'paid']))) === 'free') vars['DATABASE_LIMIT'] = '500MB';
  return { ...empty, agents: (await ask('agents', yesOrNo, 'no')) === 'yes', vars };
}

/** What exists afterwards decides: the response may be lost, or refuse what an earlier setup created meanwhile. */
async function create({ what, exists, create: send }: Resource, print: Tools['print']): Promise<void> {
  const failure: unknown = await send().catch((err: unknown) => err);
  if (failure instanceof Error && !(failure instanceof ApiError)) throw failure;
  if (await exists()) return print(`Created: ${what()}.`);
  const why = failure instanceof ApiError ? ` ${failure.message}` : '';
  throw new CommandFailure(`Not created: ${what()}.${why} Run the command again.`);
}
