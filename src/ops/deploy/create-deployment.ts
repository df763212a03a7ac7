import * as z from 'zod';
import { DEFAULT_KEY_PREFIX } from '../../config.ts';
import { isTimeZone } from '../../domain/calendar.ts';
import { directoryId } from '../../domain/directory.ts';
import { emailAddress } from '../../domain/fields.ts';
import { ApiError, type CloudflareApi, notFound, resultOf } from '../cloudflare-api.ts';
import { CommandFailure } from '../failures.ts';
import { importDirectory } from '../import/import-directory.ts';
import { appliedMigrations, migrationNames } from '../migrations.ts';
import { RemoteD1 } from '../remote-d1.ts';
import { accessOf, denialOf, notEnabled } from './access-settings.ts';
import { deployWorkers, type Tools } from './deploy-workers.ts';
import { deployedBindings, findZone, hostOwner, routeOwner } from './deployed-state.ts';
import * as files from './deployment-file.ts';
import { type Deployment, deploymentShape } from './deployment-file.ts';

const PIN = 'One-time PIN';
/** What setup asks, by the name of the option that answers it. */
export const QUESTIONS = {
  account: 'Id of the account',
  host: 'Host of the service, such as tickets.example.com',
  place: 'Place of the data, which cannot be changed; eu, us and fedramp are jurisdictions',
  'cloudflare-plan': 'Plan of Cloudflare Workers',
  agents: 'Worker for AI agents',
  team: 'Team name for Cloudflare Access, TEAM in https://TEAM.cloudflareaccess.com',
  login: `Login method of the administrators. "Cloudflare" admits only members of the account. If "${PIN}" is added, every application of Access without a list of login methods accepts it`,
  administrator: 'Email address of the first administrator, who can do everything',
  organization: 'Id of the first organization, such as northwind',
  'time-zone': 'Its time zone',
} as const;
export type Question = keyof typeof QUESTIONS;

export interface SetupTools extends Tools {
  /** The answer of the option or the terminal. An empty one is the standard answer. */
  ask: <T>(question: Question, shape: z.ZodType<T>, standard?: string) => Promise<T>;
  /** Shows secrets until they are stored, and returns a file with them. */
  storeSecrets: (secrets: Record<string, string>) => Promise<string>;
}

/** The only ticket of a new directory. */
export const TEST_TICKET = 'setup-test';
const yesOrNo = z.enum(['yes', 'no']);

/** A thing that a deployment needs on Cloudflare. */
interface Resource {
  what: () => string;
  /** Also notes what is found. @throws CommandFailure if it belongs to something else */
  exists: () => Promise<boolean>;
  /** Asks what only its creation needs. */
  ask?: () => Promise<void>;
  create: () => Promise<unknown>;
}

/** Creates on Cloudflare what a deployment lacks, and deploys it. A setup that ended anywhere is completed by the next one. */
export async function createDeployment(
  name: string,
  { plan, psa }: { plan: boolean; psa: boolean },
  tools: SetupTools,
): Promise<Deployment | undefined> {
  const { ask, print, agrees } = tools;
  const root = tools.api(undefined);
  const file = await files.findDeployment(name);
  const account = file?.account ?? (await chooseAccount(root, ask));
  const api = tools.api(account);
  const host = file?.host ?? (await ask('host', deploymentShape.shape.host));
  const zone = await zoneOf(root, account, host);
  const deployment = file ?? (await chooseSettings(name, { account, zone: zone.name, host }, api, ask));
  if (deployment.vars['ADMIN_ISSUER'] !== undefined)
    throw new CommandFailure(
      'Setup is for a sign-in with Cloudflare Access, and ADMIN_ISSUER is set: run npm run deploy.',
    );
  const resources = resourcesOf(deployment, zone.id, tools);

  const lacking = new Set<string>();
  const look = async <T>(read: () => Promise<T>) =>
    read().catch((err: unknown) => {
      if (!(err instanceof ApiError && err.failure.permission)) throw err;
      lacking.add(err.failure.permission);
    });
  const owner = await look(() => hostOwner(api, root, zone.id, deployment));
  if (owner !== undefined) throw new CommandFailure(`${host} is in use, by ${owner}. Take another host.`);
  const script = await look(() => routeOwner(root, zone.id, deployment));
  if (script !== undefined) throw new CommandFailure(`The route of ${host}/mcp is in use, by ${script}.`);
  const absent = new Set<Resource>();
  for (const resource of resources) if (!(await look(resource.exists))) absent.add(resource);
  const main = files.workerOf(deployment);
  const worker = await look(() => deployedBindings(api, main));
  if (lacking.size > 0)
    throw new CommandFailure(`The token lacks these permissions, and nothing was created: ${[...lacking].join('; ')}.`);
  if (worker && worker.find((one) => one.name === 'DB')?.id !== deployment.database)
    throw new CommandFailure(`The Worker ${main} has another database. Nothing was created.`);
  await files.requireDistinctDeployments({ [name]: deployment });
  for (const resource of absent) {
    await resource.ask?.();
    if (await resource.exists()) absent.delete(resource);
  }
  print(`In the account ${account}, zone ${zone.name}:`);
  for (const resource of resources) print(`  ${absent.has(resource) ? 'create' : 'exists'}  ${resource.what()}`);
  print(`  deploy  ${main}${deployment.agents ? ` and ${files.agentsWorkerOf(deployment)}` : ''}`);
  const denial = denialOf(await accessOf(api), zone.name);
  if (denial !== undefined) print(denial);
  if (plan) return undefined;
  if (!(await agrees('Type yes to go on: '))) throw new CommandFailure('Nothing was created.');

  const directory = resources.pop();
  for (const resource of resources) if (absent.has(resource)) await create(resource, print);
  print(`Wrote ${await files.writeDeployment(name, deployment)}.`);
  const bound = worker?.map((one) => one.name);
  const unset = psa ? ['PSA_SECRET', 'WEBHOOK_SECRET'].filter((secret) => !bound?.includes(secret)) : [];
  const random = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  const secrets = Object.fromEntries(unset.map((secret) => [secret, `whsec_${random()}`]));
  const secretsFile = unset.length > 0 ? await tools.storeSecrets(secrets) : undefined;
  // Everything that would need an answer was refused above.
  await deployWorkers(name, { migrate: true, dryRun: false, secretsFile }, { ...tools, agrees: async () => false });
  if (directory && absent.has(directory)) await create(directory, print);
  return deployment;
}

async function chooseAccount(root: CloudflareApi, ask: SetupTools['ask']): Promise<string> {
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
  ask: SetupTools['ask'],
): Promise<Deployment> {
  const isFirst = name === 'production';
  const place = await ask('place', deploymentShape.shape.place);
  const ids = { name: isFirst ? 'ticket-write-back' : `ticket-write-back-${name}`, place, database: '' };
  const empty = { ...known, ...ids, agents: false, adapters: {}, vars: {} };
  const deployed = await deployedBindings(api, files.workerOf(empty));
  const vars: Record<string, string> = {};
  if (deployed) {
    const { KEY_PREFIX: _, ...derived } = files.variablesOf({ ...empty, team: '', audience: '' });
    for (const { type, name: variable, text = '' } of deployed)
      if (type === 'plain_text' && !(variable in derived)) vars[variable] = text;
    const agents = (await deployedBindings(api, files.agentsWorkerOf(empty))) !== undefined;
    return { ...empty, agents, vars };
  }
  vars['KEY_PREFIX'] = isFirst ? DEFAULT_KEY_PREFIX : name.replaceAll('-', '');
  if ((await ask('cloudflare-plan', z.enum(['free', 'paid']))) === 'free') vars['DATABASE_LIMIT'] = '500MB';
  return { ...empty, agents: (await ask('agents', yesOrNo, 'no')) === 'yes', vars };
}

const item = z.object({ id: z.string(), name: z.string().default('') });
const loginShape = item.extend({ type: z.string() });
const policyShape = item.extend({ include: z.array(z.object({ email: z.object({ email: z.string() }).optional() })) });
const applicationShape = item.extend({ domain: z.string().default(''), aud: z.string().default('') });
const databaseShape = z.object({ name: z.string(), uuid: z.string(), jurisdiction: z.string().nullish() });
const rulesShape = z.array(z.object({ ref: z.string().optional() })).default([]);

/** What a deployment needs, in the order of its creation. Fills in database, team and audience. */
function resourcesOf(deployment: Deployment, zoneId: string, { api: apiOf, ask }: SetupTools): Resource[] {
  const { name, host, place, account } = deployment;
  const [api, root] = [apiOf(account), apiOf(undefined)];
  const [worker, jurisdiction] = [files.workerOf(deployment), files.jurisdictionOf(deployment)];
  const policyName = `${worker} administrators`;
  const database = () => new RemoteD1(api, deployment.database);
  // What the file says of it may no longer exist.
  deployment.audience = undefined;
  let isMigrated = false;
  let methods: z.output<typeof loginShape>[] = [];
  let [login, loginId, policyId, administrator, organization, timeZone] = ['', '', '', '', '', ''];

  const send = (on: CloudflareApi, method: string, path: string, body = {}) =>
    resultOf(on, path, z.unknown(), { method, body });
  const listOf = async <T>(path: string, shape: z.ZodType<T>) =>
    (await resultOf(api, `/access/${path}?per_page=1000`, z.array(shape)).catch(notEnabled)) ?? [];
  const theOnly = <T>([first, second]: T[], what: string) => {
    if (second) throw new CommandFailure(`Access has several ${what}. Remove those that are not needed.`);
    return first;
  };

  const phase = `/zones/${zoneId}/rulesets/phases/http_request_firewall_custom/entrypoint`;
  const rule = {
    ref: name.replaceAll('-', '_'),
    description: `${host}: automations pass`,
    action: 'skip',
    enabled: true,
    expression: `http.host eq "${host}" and (starts_with(http.request.uri.path, "/api/") or http.request.uri.path in {"/mcp" "/psa" "/healthz"})`,
    action_parameters: {
      ruleset: 'current',
      phases: ['http_ratelimit', 'http_request_sbfm', 'http_request_firewall_managed'],
      products: ['bic', 'securityLevel', 'uaBlock', 'rateLimit', 'waf'],
    },
  };
  const ruleset = () => resultOf(root, phase, z.object({ id: z.string(), rules: rulesShape })).catch(notFound);

  return [
    {
      what: () => `database ${name} in ${place}`,
      exists: async () => {
        const all = await resultOf(api, `/d1/database?name=${name}`, z.array(databaseShape));
        const found = all.find((one) => one.name === name);
        if (!found) return false;
        if ((found.jurisdiction ?? undefined) !== jurisdiction)
          throw new CommandFailure(
            `The database ${name} exists with the jurisdiction ${found.jurisdiction ?? 'none'}.`,
          );
        deployment.database = found.uuid;
        isMigrated = await isOurs(database(), name);
        return true;
      },
      create: () =>
        send(api, 'POST', '/d1/database', {
          name,
          ...(jurisdiction ? { jurisdiction } : { primary_location_hint: place }),
        }),
    },
    {
      what: () => `Cloudflare Access, team ${deployment.team}${login && `, login method ${login}`}`,
      exists: async () => {
        const access = await accessOf(api);
        if (!access) return false;
        deployment.team = access.auth_domain.replace(/\.cloudflareaccess\.com$/, '');
        methods = await listOf('identity_providers', loginShape);
        loginId = methods.find((one) => one.name === login)?.id ?? '';
        return loginId !== '' || deployment.audience !== undefined;
      },
      ask: async () => {
        // An application that exists has its login methods.
        if (deployment.audience !== undefined) return;
        deployment.team ??= await ask('team', deploymentShape.shape.team);
        const others = methods.flatMap((one) => (one.type === 'cloudflare' ? [] : [one.name]));
        login = await ask('login', z.enum(others.length > 0 ? others : [PIN, 'Cloudflare']));
      },
      create: async () => {
        const { team } = deployment;
        if (!(await accessOf(api)))
          await send(api, 'POST', '/access/organizations', { name: team, auth_domain: `${team}.cloudflareaccess.com` });
        if (login !== PIN) return;
        await send(api, 'POST', '/access/identity_providers', { type: 'onetimepin', name: PIN, config: {} });
      },
    },
    {
      what: () => `sign-in for ${host}/settings, with a policy that admits ${administrator}`,
      exists: async () => {
        const policies = (await listOf('policies', policyShape)).filter((one) => one.name === policyName);
        const policy = theOnly(policies, 'policies');
        policyId = policy?.id ?? '';
        administrator = policy?.include[0]?.email?.email ?? administrator;
        const applications = (await listOf('apps', applicationShape)).filter(({ domain }) => covers(domain, host));
        const application = theOnly(applications, `applications for ${host}/settings`);
        if (application && application.domain !== `${host}/settings`)
          throw new CommandFailure(
            `An application of Access covers ${application.domain}: the API would need a sign-in.`,
          );
        deployment.audience = application?.aud;
        return application !== undefined;
      },
      ask: async () => {
        if (policyId === '') administrator = await ask('administrator', emailAddress('an email address'));
      },
      create: async () => {
        if (policyId === '') {
          const policy = {
            name: policyName,
            decision: 'allow',
            include: [{ email: { email: administrator } }],
          };
          const request = { method: 'POST', body: policy };
          policyId = (await resultOf(api, '/access/policies', item.pick({ id: true }), request)).id;
        }
        return send(api, 'POST', '/access/apps', {
          type: 'self_hosted',
          name: `${worker} settings`,
          domain: `${host}/settings`,
          session_duration: '24h',
          app_launcher_visible: false,
          allowed_idps: [loginId],
          policies: [{ id: policyId, precedence: 1 }],
        });
      },
    },
    {
      what: () => `rule that lets automations pass on ${host}`,
      exists: async () => (await ruleset())?.rules.some(({ ref }) => ref === rule.ref) === true,
      create: async () => {
        const set = await ruleset();
        // PUT replaces all rules: only where there are none.
        if (!set) return send(root, 'PUT', phase, { rules: [rule] });
        return send(root, 'POST', `/zones/${zoneId}/rulesets/${set.id}/rules`, { ...rule, position: { index: 1 } });
      },
    },
    {
      what: () => `organization${organization && ` ${organization}`}, its administrator, and the ticket ${TEST_TICKET}`,
      exists: async () =>
        isMigrated && (await database().prepare('select 1 from organizations limit 1').first()) !== null,
      ask: async () => {
        organization = await ask('organization', directoryId('the organization'));
        const { timeZone: here } = Intl.DateTimeFormat().resolvedOptions();
        timeZone = await ask('time-zone', z.string().refine(isTimeZone, 'It is not an IANA time zone.'), here);
      },
      create: async () => {
        isMigrated = true;
        const records = [
          { type: 'organization', id: organization, name: organization, psa: true, timeZone, defaultHourlyRate: 0 },
          { type: 'user', organization, id: 'administrator', email: administrator, name: 'Administrator', admin: true },
          { type: 'company', organization, id: TEST_TICKET, name: 'Test' },
          { type: 'ticket', organization, id: TEST_TICKET, company: TEST_TICKET },
        ];
        await importDirectory(database(), records.map((record) => `${JSON.stringify(record)}\n`).join(''));
      },
    },
  ];
}

/** Whether a database is migrated. @throws CommandFailure if it has tables of something else */
async function isOurs(db: RemoteD1, name: string): Promise<boolean> {
  const tables = db.prepare("select 1 from sqlite_master where type = 'table' and name not glob '_cf_*' limit 1");
  const [applied, known] = [await appliedMigrations(db), await migrationNames()];
  if (applied.some((one) => !known.includes(one)) || (applied.length === 0 && (await tables.first())))
    throw new CommandFailure(`The database ${name} has tables that this release did not create.`);
  return applied.length > 0;
}

/** Whether an application of Access for `HOST/PATH` covers the settings area of a host. */
function covers(domain: string, host: string): boolean {
  const [name = '', ...path] = domain.split('/');
  const isHost = name === host || (name.startsWith('*.') && host.endsWith(name.slice(1)));
  return isHost && ['', '*', 'settings', 'settings/*'].includes(path.join('/'));
}

/** What exists afterwards decides: the response may be lost, or refuse what an earlier setup created meanwhile. */
async function create({ what, exists, create: send }: Resource, print: Tools['print']): Promise<void> {
  const failure: unknown = await send().catch((err: unknown) => err);
  if (failure instanceof Error && !(failure instanceof ApiError)) throw failure;
  if (await exists()) return print(`Created: ${what()}.`);
  const why = failure instanceof ApiError ? ` ${failure.message}` : '';
  throw new CommandFailure(`Not created: ${what()}.${why} Run the command again.`);
}
