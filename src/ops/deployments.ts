import { basename } from 'node:path';
import * as z from 'zod';
import { parseKnownPrefixes } from '../domain/deployments.ts';
import type { CloudflareApi } from './cloudflare-api.ts';
import { databaseId, MAIN_CONFIG, type WranglerConfig } from './wrangler-config.ts';

export interface Deployment {
  /** The path of its wrangler.toml, by which findings name it. */
  file: string;
  config: WranglerConfig;
  agents: { file: string; config: WranglerConfig } | undefined;
  live?: LiveDeployment | undefined;
}

export interface LiveDeployment {
  migrations: readonly string[];
  organizations: readonly string[];
  /** The names of the secrets of its Worker, and of that for AI agents. */
  secrets: readonly string[];
  agentsSecrets: readonly string[];
  jurisdiction: string;
}

const variable = ({ vars }: WranglerConfig, name: string) => vars[name] ?? '';

/** Compares deployments of one service. Returns a sentence for each difference that does harm. */
export function compareDeployments(deployments: readonly Deployment[]): string[] {
  const findings = deployments.flatMap((deployment) => [
    ...jurisdictionFaults(deployment.file, deployment.config, deployment.live?.jurisdiction),
    ...agentsFaults(deployment),
    ...documentationFaults(deployment),
  ]);
  const pairs = deployments.flatMap((one, index) => deployments.slice(index + 1).map((other) => [one, other] as const));
  for (const [one, other] of pairs) {
    const both = `${one.file} and ${other.file}`;
    for (const [what, read] of Object.entries(UNIQUE)) {
      const value = read(one.config);
      if (value !== undefined && value === read(other.config))
        findings.push(`${both} have the same ${what} ${value}: each deployment needs its own.`);
    }
    findings.push(...unknownPrefix(one, other), ...unknownPrefix(other, one));
    for (const name of limitsOf(one.config, other.config)) {
      const [a, b] = [variable(one.config, name), variable(other.config, name)];
      if (a !== b) findings.push(`${name} is "${a}" in ${one.file} and "${b}" in ${other.file}.`);
    }
    if (one.live && other.live) findings.push(...liveDifferences([one, one.live], [other, other.live]));
  }
  return findings;
}

const UNIQUE = {
  KEY_PREFIX: ({ vars }: WranglerConfig) => vars['KEY_PREFIX'],
  'Worker name': ({ name }: WranglerConfig) => name,
  database: databaseId,
  bucket: ({ r2_buckets: [bucket] }: WranglerConfig) => bucket?.bucket_name,
};

const limitsOf = (...configs: WranglerConfig[]) =>
  [...new Set(configs.flatMap(({ vars }) => Object.keys(vars)))].filter((name) => name.includes('LIMIT'));

function unknownPrefix(one: Deployment, other: Deployment): string[] {
  const prefix = variable(other.config, 'KEY_PREFIX');
  const known = [variable(one.config, 'KEY_PREFIX'), ...parseKnownPrefixes(variable(one.config, 'KEY_PREFIXES_KNOWN'))];
  if (known.includes(prefix)) return [];
  return [
    `KEY_PREFIXES_KNOWN in ${one.file} lacks ${prefix}: a key of ${other.file} could stay in its logs and texts.`,
  ];
}

export function jurisdictionFaults(file: string, config: WranglerConfig, deployed: string | undefined): string[] {
  const jurisdiction = variable(config, 'JURISDICTION').trim();
  const inWords = (one: string) => (one === '' ? 'none' : one);
  const buckets = config.r2_buckets
    .filter((bucket) => bucket.jurisdiction !== jurisdiction)
    .map(
      (bucket) =>
        `JURISDICTION in ${file} is ${inWords(jurisdiction)}, and the jurisdiction of the bucket ${bucket.bucket_name} ${inWords(bucket.jurisdiction)}.`,
    );
  if (deployed === undefined || deployed === jurisdiction) return buckets;
  return [
    ...buckets,
    `JURISDICTION in ${file} is ${inWords(jurisdiction)}, and ${inWords(deployed)} is deployed: a change begins with new, empty objects, so limits start again and the push repeats or loses its place. Make a new deployment instead.`,
  ];
}

/** The documentation is rendered with the variables of the file that the build command names. */
function documentationFaults({ file, config: { build } }: Deployment): string[] {
  const named = /--config (\S+)/.exec(build?.command ?? '')?.[1] ?? MAIN_CONFIG;
  if (build === undefined || basename(named) === basename(file)) return [];
  return [`[build] in ${file} renders the documentation with ${named}: add --config ${file} to its command.`];
}

function agentsFaults({ file, config, agents, live }: Deployment): string[] {
  if (!agents) return [];
  const faults = Object.keys(agents.config.vars)
    .filter((name) => name in config.vars && variable(agents.config, name) !== variable(config, name))
    .map((name) => `${name} in ${agents.file} differs from ${file}.`);
  if (databaseId(agents.config) !== databaseId(config))
    faults.push(`${agents.file} has another database than ${file}.`);
  const switches = ['MODE', 'BLOCKED_KEYS'].filter(
    (name) => live && live.secrets.includes(name) !== live.agentsSecrets.includes(name),
  );
  return [...faults, ...switches.map((name) => `${name} is set on only one of the two Workers of ${file}.`)];
}

type LivePair = readonly [deployment: Deployment, live: LiveDeployment];

function liveDifferences(one: LivePair, other: LivePair): string[] {
  const lacks = ([{ file }, live]: LivePair, [having, other]: LivePair, key: 'migrations' | 'secrets') =>
    other[key]
      .filter((name) => !live[key].includes(name))
      .map((name) => `${file} lacks the ${key.slice(0, -1)} ${name}, which ${having.file} has.`);
  const shared = one[1].organizations.filter((id) => other[1].organizations.includes(id));
  return [
    ...(['migrations', 'secrets'] as const).flatMap((key) => [...lacks(one, other, key), ...lacks(other, one, key)]),
    ...shared.map((id) => `Organization ${id} is active in ${one[0].file} and in ${other[0].file}.`),
  ];
}

const settingsShape = z.object({
  success: z.literal(true),
  result: z.object({
    bindings: z.array(z.looseObject({ type: z.string(), name: z.string(), text: z.string().optional() })),
  }),
});

/** Undefined if there is no such Worker. */
export async function deployedBindings(
  api: CloudflareApi,
  name: string,
): Promise<z.output<typeof settingsShape>['result']['bindings'] | undefined> {
  const response = await api(`/workers/scripts/${name}/settings`);
  if (response.status === 404) return undefined;
  const found = settingsShape.safeParse(await response.json().catch(() => undefined));
  if (found.success) return found.data.result.bindings;
  throw new Error(`Cloudflare's API answered ${response.status} for the Worker ${name}`);
}
