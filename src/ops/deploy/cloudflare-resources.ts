import * as z from 'zod';
import { findAnyOrganization } from '../../db/directory/records.ts';
import { isTimeZone } from '../../domain/calendar.ts';
import { directoryId } from '../../domain/directory.ts';
import { emailAddress } from '../../domain/fields.ts';
import { query } from '../../services/call-d1.ts';
import { type CloudflareApi, notFound, resultOf } from '../cloudflare-api.ts';
import { CommandFailure } from '../failures.ts';
import { importDirectory } from '../import/import-directory.ts';
import { appliedMigrations, migrationNames } from '../migrations.ts';
import { operatorContext } from '../open-database.ts';
import { RemoteD1 } from '../remote-d1.ts';
import { accessOf, notEnabled } from './access-settings.ts';
import { type Deployment, deploymentShape, jurisdictionOf, workerOf } from './deployment-file.ts';
import { type Ask, PIN } from './setup-questions.ts';

/** The only ticket of a new directory. */
export const TEST_TICKET = 'setup-test';

/** A thing that a deployment needs on Cloudflare. */
export interface Resource {
  what: () => string;
  /** Also notes what is found. @throws CommandFailure if it belongs to something else */
  exists: () => Promise<boolean>;
  /** Asks what only its creation needs. */
  ask?: () => Promise<void>;
  create: () => Promise<unknown>;
}

/** What the resources tell each other. */
interface Found {
  /** Database, team and audience are filled in. */
  deployment: Deployment;
  zoneId: string;
  /** The API for the account of the deployment, and for zones. */
  api: CloudflareApi;
  root: CloudflareApi;
  ask: Ask;
  isMigrated: boolean;
  loginId: string;
  administrator: string;
}

/** What a deployment needs, in the order of its creation. Fills in database, team and audience. */
export function resourcesOf(known: Pick<Found, 'deployment' | 'zoneId' | 'api' | 'root' | 'ask'>): {
  onCloudflare: Resource[];
  directory: Resource;
} {
  const found = { ...known, isMigrated: false, loginId: '', administrator: '' };
  // What the file says of it may no longer exist.
  found.deployment.audience = undefined;
  return {
    onCloudflare: [databaseResource(found), teamResource(found), signInResource(found), ruleResource(found)],
    directory: directoryResource(found),
  };
}

const item = z.object({ id: z.string(), name: z.string().default('') });
const loginShape = item.extend({ type: z.string() });
const policyShape = item.extend({ include: z.array(z.object({ email: z.object({ email: z.string() }).optional() })) });
const applicationShape = item.extend({ domain: z.string().default(''), aud: z.string().default('') });
const databaseShape = z.object({ name: z.string(), uuid: z.string(), jurisdiction: z.string().nullish() });
const rulesShape = z.array(z.object({ ref: z.string().optional() })).default([]);

const post = (on: CloudflareApi, path: string, body: object) =>
  resultOf(on, path, z.unknown(), { method: 'POST', body });

function databaseResource(found: Found): Resource {
  const { deployment, api } = found;
  const { name, place } = deployment;
  const jurisdiction = jurisdictionOf(deployment);
  return {
    what: () => `database ${name} in ${place}`,
    exists: async () => {
      const all = await resultOf(api, `/d1/database?name=${name}`, z.array(databaseShape));
      const database = all.find((one) => one.name === name);
      if (!database) return false;
      if ((database.jurisdiction ?? undefined) !== jurisdiction)
        throw new CommandFailure(
          `The database ${name} exists with the jurisdiction ${database.jurisdiction ?? 'none'}.`,
        );
      deployment.database = database.uuid;
      found.isMigrated = await isOurs(new RemoteD1(api, database.uuid), name);
      return true;
    },
    create: () =>
      post(api, '/d1/database', { name, ...(jurisdiction ? { jurisdiction } : { primary_location_hint: place }) }),
  };
}

const listOf = async <T>(api: CloudflareApi, path: string, shape: z.ZodType<T>) =>
  (await resultOf(api, `/access/${path}?per_page=1000`, z.array(shape)).catch(notEnabled)) ?? [];

function theOnly<T>([first, second]: T[], what: string): T | undefined {
  if (second) throw new CommandFailure(`Access has several ${what}. Remove those that are not needed.`);
  return first;
}

/** Cloudflare Access, and a login method for an application that does not exist yet. */
function teamResource(found: Found): Resource {
  const { deployment, api, ask } = found;
  let methods: z.output<typeof loginShape>[] = [];
  let login = '';
  return {
    what: () => `Cloudflare Access, team ${deployment.team}${login && `, login method ${login}`}`,
    exists: async () => {
      const access = await accessOf(api);
      if (!access) return false;
      deployment.team = access.auth_domain.replace(/\.cloudflareaccess\.com$/, '');
      methods = await listOf(api, 'identity_providers', loginShape);
      found.loginId = methods.find((one) => one.name === login)?.id ?? '';
      return found.loginId !== '' || deployment.audience !== undefined;
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
        await post(api, '/access/organizations', { name: team, auth_domain: `${team}.cloudflareaccess.com` });
      if (login === PIN) await post(api, '/access/identity_providers', { type: 'onetimepin', name: PIN, config: {} });
    },
  };
}

/** The application of Access for the settings area, and its policy. */
function signInResource(found: Found): Resource {
  const { deployment, api, ask } = found;
  const { host } = deployment;
  const worker = workerOf(deployment);
  const policyName = `${worker} administrators`;
  let policyId = '';
  return {
    what: () => `sign-in for ${host}/settings, with a policy that admits ${found.administrator}`,
    exists: async () => {
      const policies = (await listOf(api, 'policies', policyShape)).filter((one) => one.name === policyName);
      const policy = theOnly(policies, 'policies');
      policyId = policy?.id ?? '';
      found.administrator = policy?.include[0]?.email?.email ?? found.administrator;
      const applications = (await listOf(api, 'apps', applicationShape)).filter(({ domain }) => covers(domain, host));
      const application = theOnly(applications, `applications for ${host}/settings`);
      if (application && application.domain !== `${host}/settings`)
        throw new CommandFailure(
          `An application of Access covers ${application.domain}: the API would need a sign-in.`,
        );
      deployment.audience = application?.aud;
      return application !== undefined;
    },
    ask: async () => {
      if (policyId === '') found.administrator = await ask('administrator', emailAddress('an email address'));
    },
    create: async () => {
      if (policyId === '') {
        const include = [{ email: { email: found.administrator } }];
        const request = { method: 'POST', body: { name: policyName, decision: 'allow', include } };
        policyId = (await resultOf(api, '/access/policies', item.pick({ id: true }), request)).id;
      }
      return post(api, '/access/apps', {
        type: 'self_hosted',
        name: `${worker} settings`,
        domain: `${host}/settings`,
        session_duration: '24h',
        app_launcher_visible: false,
        allowed_idps: [found.loginId],
        policies: [{ id: policyId, precedence: 1 }],
      });
    },
  };
}

/** The rule of the zone that lets automations pass its protections. */
function ruleResource({ deployment: { name, host }, zoneId, root }: Found): Resource {
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
  return {
    what: () => `rule that lets automations pass on ${host}`,
    exists: async () => (await ruleset())?.rules.some(({ ref }) => ref === rule.ref) === true,
    create: async () => {
      const set = await ruleset();
      // PUT replaces all rules: only where there are none.
      if (!set) return resultOf(root, phase, z.unknown(), { method: 'PUT', body: { rules: [rule] } });
      return post(root, `/zones/${zoneId}/rulesets/${set.id}/rules`, { ...rule, position: { index: 1 } });
    },
  };
}

/** The first organization, once the database is migrated. */
function directoryResource(found: Found): Resource {
  const { deployment, api, ask } = found;
  const database = () => new RemoteD1(api, deployment.database);
  let [organization, timeZone] = ['', ''];
  return {
    what: () => `organization${organization && ` ${organization}`}, its administrator, and the ticket ${TEST_TICKET}`,
    exists: async () =>
      found.isMigrated && (await query(operatorContext(database()), 'nothing_written', findAnyOrganization)).length > 0,
    ask: async () => {
      organization = await ask('organization', directoryId('the organization'));
      const { timeZone: here } = Intl.DateTimeFormat().resolvedOptions();
      timeZone = await ask('time-zone', z.string().refine(isTimeZone, 'It is not an IANA time zone.'), here);
    },
    create: async () => {
      found.isMigrated = true;
      const email = found.administrator;
      const records = [
        { type: 'organization', id: organization, name: organization, psa: true, timeZone, defaultHourlyRate: 0 },
        { type: 'user', organization, id: 'administrator', email, name: 'Administrator', admin: true },
        { type: 'company', organization, id: TEST_TICKET, name: 'Test' },
        { type: 'ticket', organization, id: TEST_TICKET, company: TEST_TICKET },
      ];
      await importDirectory(database(), records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    },
  };
}

/** Finds a table of something else: wrangler creates its own one before the first migration. */
const FOREIGN_TABLE = `select 1 from sqlite_master where type = 'table' and name <> 'd1_migrations'
  and name not glob '_cf_*' and name not glob 'sqlite_*' limit 1`;

/** Whether a database is migrated. @throws CommandFailure if it has tables of something else */
async function isOurs(db: RemoteD1, name: string): Promise<boolean> {
  const tables = db.prepare(FOREIGN_TABLE);
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
