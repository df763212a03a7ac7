import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runCli } from '../../support/run-cli.ts';
import { freePort } from '../../support/server.ts';

/** What a stand-in for Cloudflare's API has of a deployment. */
interface Deployed {
  migrations: string[];
  organizations: string[];
  secrets: string[];
  jurisdiction: string;
  hasReplicas: boolean;
}

let directory: string;
let deployed: Record<'eu' | 'us', Deployed>;
const api = createServer(async (request, response) => {
  const [, name = ''] = /\/(?:scripts|database)\/(\w+)/.exec(request.url ?? '') ?? [];
  const of = name === 'eu' || name === 'us' ? deployed[name] : undefined;
  const send = (status: number, result: unknown) =>
    response.writeHead(status).end(JSON.stringify({ success: status === 200, errors: [], result }));
  if (!of) return void send(404, null);
  if (request.url?.endsWith('/settings')) {
    const secrets = of.secrets.map((secret) => ({ type: 'secret_text', name: secret }));
    return void send(200, {
      bindings: [...secrets, { type: 'plain_text', name: 'JURISDICTION', text: of.jurisdiction }],
    });
  }
  if (request.method === 'GET')
    return void send(200, { read_replication: { mode: of.hasReplicas ? 'auto' : 'disabled' } });
  const names = (await text(request)).includes('d1_migrations') ? of.migrations : of.organizations;
  send(200, [{ success: true, meta: {}, results: names.map((one) => ({ name: one })) }]);
});

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'twb-deployments-'));
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await rm(directory, { recursive: true });
  api.closeAllConnections();
  await new Promise((resolve) => api.close(resolve));
});
beforeEach(() => {
  const of = (name: string): Deployed => ({
    migrations: ['0000_first.sql', '0001_second.sql'],
    organizations: [`${name}-msp`],
    secrets: ['PSA_SECRET'],
    jurisdiction: name === 'eu' ? 'eu' : '',
    hasReplicas: false,
  });
  deployed = { eu: of('eu'), us: of('us') };
});

interface Changes {
  vars?: Record<string, string>;
  database?: string;
  bucketJurisdiction?: string;
  build?: string;
}

async function writeConfig(
  name: 'eu' | 'us',
  { vars = {}, database = name, bucketJurisdiction, build = `${name}.toml` }: Changes,
) {
  const jurisdiction = bucketJurisdiction ?? (name === 'eu' ? 'eu' : '');
  const all = {
    KEY_PREFIX: name,
    KEY_PREFIXES_KNOWN: name === 'eu' ? 'us' : 'eu',
    KEY_LIMIT: '200/10s',
    JURISDICTION: name === 'eu' ? 'eu' : '',
    ...vars,
  };
  const path = join(directory, `${name}.toml`);
  await writeFile(
    path,
    [
      `name = "${name}"`,
      `[build]\ncommand = "node src/dev/render.ts --config ${build}"`,
      '[vars]',
      ...Object.entries(all).map(([key, value]) => `${key} = "${value}"`),
      '[[d1_databases]]',
      `binding = "DB"\ndatabase_id = "${database}"`,
      '[[r2_buckets]]',
      `binding = "ARCHIVE"\nbucket_name = "${name}-archive"\njurisdiction = "${jurisdiction}"`,
    ].join('\n'),
  );
  return path;
}

const env = () => {
  const { port } = api.address() as AddressInfo;
  return {
    CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}`,
    CLOUDFLARE_ACCOUNT_ID: 'acc',
    CLOUDFLARE_API_TOKEN: 'good',
  };
};

/** Compares two deployments, one of which differs; returns the exit code and the lines. */
async function compare(changes: Changes = {}, ...args: string[]) {
  const files = [await writeConfig('eu', {}), await writeConfig('us', changes)];
  const { code, stdout, stderr } = await runCli('deployments:check', [...files, ...args], { env: env() });
  expect(stderr).toBe('');
  return { code, lines: stdout.replaceAll(`${directory}/`, '').trim().split('\n') };
}

test('deployments that fit together pass the check, with and without the deployed state', async () => {
  const fits = { code: 0, lines: ['2 deployments fit together.'] };
  expect([await compare(), await compare({}, '--remote')]).toEqual([fits, fits]);
});

describe('a difference between the files', () => {
  test.each<[Changes, string]>([
    [{ vars: { KEY_PREFIX: 'eu' } }, 'eu.toml and us.toml have the same KEY_PREFIX eu: each deployment needs its own.'],
    [
      { vars: { KEY_PREFIXES_KNOWN: '' } },
      'KEY_PREFIXES_KNOWN in us.toml lacks eu: a key of eu.toml could stay in its logs and texts.',
    ],
    [{ database: 'eu' }, 'eu.toml and us.toml have the same database eu: each deployment needs its own.'],
    [{ vars: { KEY_LIMIT: '100/10s' } }, 'KEY_LIMIT is "200/10s" in eu.toml and "100/10s" in us.toml.'],
    [
      { bucketJurisdiction: 'eu' },
      'JURISDICTION in us.toml is none, and the jurisdiction of the bucket us-archive eu.',
    ],
    [
      { build: 'eu.toml' },
      '[build] in us.toml renders the documentation with eu.toml: add --config us.toml to its command.',
    ],
  ])('the check finds a difference between the files: %j', async (changes, finding) => {
    expect(await compare(changes)).toEqual({ code: 1, lines: [finding] });
  });
});

describe('a difference between the deployments', () => {
  test.each<[string, () => void, string]>([
    [
      'a migration',
      () => deployed.us.migrations.pop(),
      'us.toml lacks the migration 0001_second.sql, which eu.toml has.',
    ],
    [
      'an organization in two',
      () => deployed.us.organizations.push('eu-msp'),
      'Organization eu-msp is active in eu.toml and in us.toml.',
    ],
    ['a secret', () => deployed.eu.secrets.push('MODE'), 'us.toml lacks the secret MODE, which eu.toml has.'],
  ])('the check finds a difference between the deployments: %s', async (_, plant, finding) => {
    plant();
    expect(await compare({}, '--remote')).toEqual({ code: 1, lines: [finding] });
  });

  test('the check finds a jurisdiction that was changed after the first deployment', async () => {
    deployed.us.jurisdiction = 'us';
    const { code, lines } = await compare({}, '--remote');
    expect([code, lines]).toEqual([
      1,
      [expect.stringMatching(/^JURISDICTION in us\.toml is none, and us is deployed: a change begins with new, empty/)],
    ]);
  });
});

test('the doctor refuses a file whose JURISDICTION differs from the deployed one', async () => {
  const file = await writeConfig('us', {});
  const run = async () => {
    const address = `http://localhost:${await freePort()}`;
    return (await runCli('doctor', [address, '--config', file], { env: env() })).stdout;
  };
  expect(await run()).toMatch(/^ok {4}JURISDICTION: none, as in the file$/m);
  deployed.us.jurisdiction = 'eu';
  expect(await run()).toMatch(
    /^FAIL {2}JURISDICTION: .* is none, and eu is deployed: a change begins with new, empty/m,
  );
});

/** How long the database of a stand-in for the service takes, in milliseconds. */
const LOOKUP_MS = 40;

test('the doctor shows whether the database has read replicas, and how long one trip to it takes', async () => {
  const file = await writeConfig('us', { vars: { KEY_PREFIX: 'twb' } });
  const service = createServer((request, response) => {
    const isLookedUp = /^Bearer twb_\w{46}$/.test(request.headers.authorization ?? '');
    setTimeout(() => response.writeHead(401).end(), isLookedUp ? LOOKUP_MS : 0);
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  const { port } = service.address() as AddressInfo;
  const run = async () =>
    (await runCli('doctor', [`http://127.0.0.1:${port}`, '--config', file], { env: env() })).stdout;
  try {
    const [, ms] =
      /^ok {4}read replication: off: would save one trip to the database, (\d+) ms/m.exec(await run()) ?? [];
    expect(Number(ms)).toBeGreaterThan(LOOKUP_MS / 2);
    deployed.us.hasReplicas = true;
    expect(await run()).toMatch(/^ok {4}read replication: on: saves one trip to the database, \d+ ms from here/m);
  } finally {
    service.closeAllConnections();
    service.close();
  }
});

test('one deployment cannot be compared', async () => {
  const file = await writeConfig('eu', {});
  expect(await runCli('deployments:check', [file, file])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('at least two deployments'),
  });
});
