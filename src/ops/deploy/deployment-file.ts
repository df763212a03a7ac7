import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'smol-toml';
import * as z from 'zod';
import { DEFAULT_KEY_PREFIX, parseConfig, reader, SECRETS, VARIABLES } from '../../config.ts';
import { directoryId } from '../../domain/directory.ts';
import { JURISDICTIONS } from '../../domain/jurisdiction.ts';
import { CommandFailure, UsageError } from '../failures.ts';
import { MODULE_SECRETS, MODULE_VARIABLES } from '../modules.ts';

// A deployment is a file, .deployments/NAME.toml, without secrets. deploy.md describes it.

const LOCATIONS = ['weur', 'eeur', 'wnam', 'enam', 'apac', 'oc'] as const;

/** Variables that follow from another setting of the file. */
const DERIVED = new Map([
  ['JURISDICTION', 'place'],
  ['SERVICE_URL', 'host'],
  ['ADMIN_AUDIENCE', 'audience'],
]);

const hostname = z.hostname('It must be a host name, such as tickets.example.com.').lowercase();

/** An adapter between an organization and its PSA. src/adapters/README.md describes it. */
const adapter = z.strictObject({
  /** The folder in src/adapters. */
  psa: z.string().regex(/^[a-z][a-z0-9-]*$/, 'It must be the name of a folder in src/adapters.'),
  organization: directoryId('the organization'),
  administrators: z
    .array(z.email('It must be an email address.').toLowerCase())
    .min(1, 'It must list an administrator.'),
  vars: z.record(z.string(), z.string()),
});
const adapterName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,20}$/, 'It must be 1 to 21 lower-case letters, digits and hyphens.');

export const deploymentShape = z
  .strictObject({
    account: z.string().regex(/^[0-9a-f]{32}$/, 'It must be the 32 hexadecimal digits of the account id.'),
    zone: hostname,
    host: hostname,
    /** The name of the database. The names of the Workers begin with it. */
    name: z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,40}[a-z0-9]$/, 'It must be 2 to 42 lower-case letters, digits and hyphens.')
      .default('ticket-write-back'),
    /** Where the database is; a jurisdiction also places the Durable Objects. */
    place: z.enum([...LOCATIONS, ...JURISDICTIONS]),
    /** The id of the database. */
    database: z.guid('It must be the id of the database.'),
    /** The team name of Cloudflare Access. Without it, ADMIN_ISSUER is a variable. */
    team: z
      .string()
      .regex(/^[a-z0-9-]+$/, 'It must be TEAM in https://TEAM.cloudflareaccess.com.')
      .optional(),
    /** The audience of the tokens that sign administrators in. */
    audience: z.string().min(1).optional(),
    agents: z.boolean().default(false),
    /** Whether Cloudflare keeps spans of the requests. See logs.md. */
    traces: z.boolean().optional(),
    adapters: z.record(adapterName, adapter).default({}),
    /** The variables that differ from their defaults. */
    vars: z.record(z.string(), z.string()).default({}),
  })
  .superRefine(({ host, zone, team, vars }, { addIssue }) => {
    const refuse = (path: string[], message: string) => addIssue({ code: 'custom', path, message });
    if (host !== zone && !host.endsWith(`.${zone}`)) refuse(['host'], `It must be ${zone} or a name below it.`);
    for (const name of Object.keys(vars)) {
      const fault = faultOf(name, team);
      if (fault !== undefined) refuse(['vars', name], fault);
    }
  });

function faultOf(name: string, team: string | undefined): string | undefined {
  const setting = DERIVED.get(name) ?? (name === 'ADMIN_ISSUER' && team !== undefined ? 'team' : undefined);
  if (setting !== undefined) return `Its value follows from ${setting}.`;
  if ([...SECRETS, ...MODULE_SECRETS.keys()].includes(name))
    return `It is a secret: npx wrangler secret put ${name} --name WORKER`;
  const known = [...VARIABLES, ...MODULE_VARIABLES.keys()];
  return known.includes(name) ? undefined : 'It is not a variable of this service.';
}

export type Deployment = z.output<typeof deploymentShape>;

export const workerOf = ({ name }: Deployment) => `${name}-api`;
export const agentsWorkerOf = (deployment: Deployment) => `${workerOf(deployment)}-agents`;
/** Without the "*", an address with a query would not match. */
export const agentsRouteOf = ({ host }: Deployment) => `${host}/mcp*`;
export const jurisdictionOf = ({ place }: Deployment) => JURISDICTIONS.find((jurisdiction) => jurisdiction === place);

/** The variables of the main Worker. Always includes what must not change later, KEY_PREFIX and JURISDICTION. */
export function variablesOf(deployment: Deployment): Record<string, string> {
  const { host, team, audience, vars } = deployment;
  return {
    KEY_PREFIX: DEFAULT_KEY_PREFIX,
    ...vars,
    JURISDICTION: jurisdictionOf(deployment) ?? '',
    SERVICE_URL: `https://${host}`,
    ...(team !== undefined && { ADMIN_ISSUER: `https://${team}.cloudflareaccess.com` }),
    ...(audience !== undefined && { ADMIN_AUDIENCE: audience }),
  };
}

/** Takes the place of the secret that WEBHOOK_URL requires: the file has none. */
export const SECRET_STAND_IN = { WEBHOOK_SECRET: `whsec_${btoa('0'.repeat(32))}` };

export const configOf = (deployment: Deployment) => parseConfig({ ...variablesOf(deployment), ...SECRET_STAND_IN });

const directory = () => process.env['DEPLOYMENTS_DIRECTORY'] ?? '.deployments';

async function deploymentNames(): Promise<string[]> {
  const files = await readdir(directory()).catch(() => []);
  return files.flatMap((file) => /^([a-z0-9-]+)\.toml$/.exec(file)?.[1] ?? []).sort();
}

/** The deployment with this name; without a name, the only one. @throws UsageError, CommandFailure */
export const readDeployment = async (given?: string) => parseDeployment(await deploymentName(given));

/** The name, if there is such a deployment; without a name, that of the only one. @throws UsageError */
export async function deploymentName(given?: string): Promise<string> {
  const none = `There is no deployment: ${directory()} has no file NAME.toml. See src/ops/deploy.md.`;
  return chooseName('deployment', await deploymentNames(), given, none);
}

/** The given name, if there is such a `what`; without one, that of the only one. @throws UsageError */
export function chooseName(what: string, names: readonly string[], given: string | undefined, none: string): string {
  const name = given ?? (names.length === 1 ? names[0] : undefined);
  if (name !== undefined && names.includes(name)) return name;
  if (names.length === 0) throw new UsageError(none);
  const fault = name === undefined ? `Name the ${what}` : `There is no ${what} ${name}`;
  throw new UsageError(`${fault}: ${names.join(', ')}.`);
}

/** The deployment with this name, if it has a file. @throws CommandFailure */
export const findDeployment = async (name: string) =>
  (await deploymentNames()).includes(name) ? parseDeployment(name) : undefined;

/** Writes the file of a deployment, and returns its path. */
export async function writeDeployment(name: string, deployment: Deployment): Promise<string> {
  await mkdir(directory(), { recursive: true });
  const file = join(directory(), `${name}.toml`);
  const isEmpty = (value: unknown) => typeof value === 'object' && Object.keys(value ?? {}).length === 0;
  const settings = Object.entries(deployment).filter(([, value]) => !isEmpty(value));
  const content = stringify(Object.fromEntries(settings));
  await writeFile(file, `# Described in src/ops/deploy.md. It has no secrets: keep a copy.\n${content}`);
  return file;
}

async function parseDeployment(name: string): Promise<Deployment> {
  const file = join(directory(), `${name}.toml`);
  try {
    const deployment = deploymentShape.parse(parse(await readFile(file, 'utf8')));
    configOf(deployment);
    for (const [variable, parseValue] of MODULE_VARIABLES) reader(deployment.vars)(variable, parseValue);
    return deployment;
  } catch (err) {
    throw new CommandFailure(
      faultsIn(err)
        .map((fault) => `${file}: ${fault}`)
        .join('\n'),
    );
  }
}

function faultsIn(err: unknown): string[] {
  if (!(err instanceof z.ZodError)) return [err instanceof Error ? err.message : String(err)];
  return err.issues.map(({ path, message }) => {
    const fault = message.endsWith('received undefined') ? 'It is missing.' : message;
    return path.length === 0 ? fault : `${path.join('.')}: ${fault}`;
  });
}

/** What no two deployments may share. */
const UNIQUE: Readonly<Record<string, (deployment: Deployment) => string | undefined>> = {
  'key prefix': (deployment) => variablesOf(deployment)['KEY_PREFIX'],
  name: ({ name }) => name,
  host: ({ host }) => host,
  database: ({ database }) => database,
};

/**
 * `planned` is a deployment whose file may still be missing.
 * @throws CommandFailure if two deployments share a key prefix, a name, a host or a database
 */
export async function requireDistinctDeployments(planned: Readonly<Record<string, Deployment>> = {}): Promise<void> {
  const files = (await deploymentNames()).map(async (name) => [name, await parseDeployment(name)] as const);
  const deployments = Object.entries({ ...Object.fromEntries(await Promise.all(files)), ...planned });
  for (const [index, [one, settings]] of deployments.entries())
    for (const [other, others] of deployments.slice(index + 1))
      for (const [what, read] of Object.entries(UNIQUE))
        if (read(settings) === read(others))
          throw new CommandFailure(
            `${one} and ${other} have the same ${what}, ${read(settings)}. Each deployment needs its own.`,
          );
}
