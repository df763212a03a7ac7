import { existsSync } from 'node:fs';
import { type CloudflareApi, cloudflareApi } from '../cloudflare-api.ts';
import { operatorCommand, UsageError } from '../command.ts';
import { compareDeployments, type Deployment, deployedBindings, type LiveDeployment } from '../deployments.ts';
import { count, print } from '../output.ts';
import { printable } from '../printable.ts';
import { RemoteD1 } from '../remote-d1.ts';
import { agentsConfigOf, databaseId, readWranglerConfig, type WranglerConfig } from '../wrangler-config.ts';

export const deploymentsCheck = operatorCommand({
  name: 'deployments:check',
  summary: 'compare several deployments of the service',
  purpose:
    'Compares the wrangler.toml of each deployment, and that of its Worker for AI agents (src/agents/NAME.toml): prefixes, databases, limits and jurisdictions. With --remote, also what is deployed: migrations, organizations, secrets and jurisdictions. Nothing is written.',
  usage: 'A.toml B.toml... [--remote]',
  example: 'deployments:check eu.toml us.toml --remote',
  failure: 'a difference was found; each is a line',
})
  .argument('<FILE...>', 'The wrangler.toml of each deployment.')
  .option('--remote', 'Also read what is deployed. Needs CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_TOKEN.')
  .action(run);

async function run(files: string[], { remote }: { remote?: true | undefined }): Promise<void> {
  if (new Set(files).size < 2) throw new UsageError('Name the wrangler.toml of at least two deployments.');
  const api = remote && cloudflareApi();
  const deployments: Deployment[] = [];
  for (const file of files) {
    const config = readWranglerConfig(file);
    const agentsFile = agentsConfigOf(file);
    const agents = existsSync(agentsFile) ? { file: agentsFile, config: readWranglerConfig(agentsFile) } : undefined;
    const live = api && (await readLive(api, file, config, agents?.config));
    deployments.push({ file, config, agents, live });
  }
  const findings = compareDeployments(deployments);
  for (const finding of findings) await print(`${printable(finding)}\n`);
  if (findings.length > 0) process.exitCode = 1;
  else await print(`${count(deployments.length, 'deployment')} fit together.\n`);
}

/** What a deployment is on Cloudflare; undefined, with a line that says so, if it is not deployed. */
async function readLive(
  api: CloudflareApi,
  file: string,
  config: WranglerConfig,
  agents: WranglerConfig | undefined,
): Promise<LiveDeployment | undefined> {
  const bindings = await deployedBindings(api, config.name);
  if (!bindings) {
    await print(`${printable(file)} is not deployed: only the file is compared.\n`);
    return undefined;
  }
  const db = new RemoteD1(api, databaseId(config));
  const namesOf = async (sql: string) =>
    (await db.prepare(sql).all<{ name: string }>()).results.map(({ name }) => name);
  const agentsBindings = agents && (await deployedBindings(api, agents.name));
  const secretsOf = (of: typeof bindings) => of.filter(({ type }) => type === 'secret_text').map(({ name }) => name);
  return {
    migrations: await namesOf('select name from d1_migrations order by id'),
    organizations: await namesOf('select id as name from organizations where active = 1 order by id'),
    secrets: secretsOf(bindings),
    agentsSecrets: agentsBindings ? secretsOf(agentsBindings) : secretsOf(bindings),
    jurisdiction: bindings.find(({ name }) => name === 'JURISDICTION')?.text ?? '',
  };
}
