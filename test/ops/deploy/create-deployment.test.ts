import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { parse } from 'smol-toml';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { cloudflareApi } from '../../../src/ops/cloudflare-api.ts';
import { createDeployment } from '../../../src/ops/deploy/create-deployment.ts';
import type { Question } from '../../../src/ops/deploy/setup-questions.ts';
import { migrate } from '../../../src/ops/migrations.ts';
import { RemoteD1 } from '../../../src/ops/remote-d1.ts';
import { ACCOUNT, writeDeployments } from '../../support/deployments.ts';
import { type Fault, startFakeCloudflare, TOKEN, worldOf } from '../../support/fake-cloudflare.ts';
import { ANSWERS } from '../../support/setup-answers.ts';

const HOST = ANSWERS.host;
const WORKER = 'ticket-write-back-api';

let fake: Awaited<ReturnType<typeof startFakeCloudflare>>;
let directory: string;
beforeEach(async () => {
  fake = await startFakeCloudflare();
  await deploy({});
});
afterEach(async () => {
  expect(fake.unknown).toEqual([]);
  vi.unstubAllEnvs();
  await fake.close();
});

/** Makes these the only deployments that have files. */
async function deploy(files: Record<string, object>): Promise<void> {
  directory = (await writeDeployments(files)).DEPLOYMENTS_DIRECTORY;
  vi.stubEnv('DEPLOYMENTS_DIRECTORY', directory);
}

const api = (account: string | undefined) =>
  cloudflareApi(account, { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_API_BASE_URL: fake.url });

/** Runs setup with these answers; what wrangler would do is done in the fake. Returns how it ended, and what it printed. */
async function run({
  answers = {},
  ...options
}: {
  answers?: Partial<Record<Question, string>>;
  plan?: boolean;
  psa?: boolean;
} = {}) {
  const printed: string[] = [];
  const [asked, stored]: [Question[], string[]] = [[], []];
  const ended = await createDeployment(
    'production',
    { plan: false, psa: false, ...options },
    {
      ask: async (question, shape) => {
        asked.push(question);
        const { data, error } = z.safeParse(shape, { ...ANSWERS, ...answers }[question]);
        if (data === undefined) throw new Error(`${question}: ${error?.issues[0]?.message}`);
        return data;
      },
      storeSecrets: async (secrets) => {
        stored.push(...Object.keys(secrets));
        const file = join(directory, 'secrets.json');
        await writeFile(file, JSON.stringify(secrets));
        return file;
      },
      agrees: async () => true,
      run: wrangler,
      api,
      print: (line) => printed.push(line),
      fetch: async () => new Response('{}'),
    },
  ).then(
    () => 'completed',
    (err: Error) => err.message,
  );
  return { ended, printed, asked, stored };
}

async function wrangler(program: string, [command = '', ...args]: readonly string[]): Promise<void> {
  if (program === 'build') return;
  const config = JSON.parse(await readFile(args[args.indexOf('-c') + 1] ?? '', 'utf8'));
  const [database] = config.d1_databases ?? [];
  if (command === 'd1') return migrate(new RemoteD1(api(ACCOUNT), database.database_id));
  const variables = Object.entries<string>(config.vars ?? {}).map(([name, text]) => ({
    type: 'plain_text',
    name,
    text,
  }));
  const file = args.indexOf('--secrets-file');
  const secrets = file < 0 ? {} : JSON.parse(await readFile(args[file + 1] ?? '', 'utf8'));
  fake.state.scripts.set(config.name, {
    bindings: [...variables, ...(database ? [{ type: 'd1', name: 'DB', id: database.database_id }] : [])],
    secrets,
    tag: 't',
  });
  if (config.name === WORKER) fake.state.domains = [{ hostname: HOST, service: WORKER }];
}

const world = () => worldOf(fake);
/** The calls that change something. Statements of SQL are not among them. */
const writes = () => fake.calls.filter((call) => !/^GET|\/query$/.test(call));

test('setup creates everything from nothing, and a repetition asks and writes nothing', async () => {
  const first = await run();
  expect(first.ended).toBe('completed');
  expect(first.printed.slice(0, 7)).toEqual([
    `In the account ${ACCOUNT}, zone example.com:`,
    '  create  database ticket-write-back in weur',
    '  create  Cloudflare Access, team northwind, login method One-time PIN',
    `  create  sign-in for ${HOST}/settings, with a policy that admits ada@northwind.example`,
    `  create  rule that lets automations pass on ${HOST}`,
    '  create  organization northwind, its administrator, and the ticket setup-test',
    `  deploy  ${WORKER} and ${WORKER}-agents`,
  ]);
  expect(world()).toMatchObject({
    databases: [
      {
        organizations: [{ id: 'northwind', time_zone: 'Europe/Berlin' }],
        administrators: [{ email: 'ada@northwind.example' }],
      },
    ],
    scripts: [WORKER, `${WORKER}-agents`],
    applications: [[`${HOST}/settings`, 1]],
    rules: [{ expression: expect.stringMatching(/^http\.host eq "tickets\.example\.com" and/) }],
  });
  const file = parse(await readFile(join(directory, 'production.toml'), 'utf8'));
  // Only settings that differ from their defaults.
  expect(file).not.toHaveProperty('adapters');
  expect(file).toMatchObject({
    account: ACCOUNT,
    host: HOST,
    team: 'northwind',
    audience: expect.stringMatching(/^id-/),
  });
  expect(file['vars']).toEqual({ DATABASE_LIMIT: '500MB' });

  const [before] = [world(), fake.calls.splice(0)];
  const second = await run();
  expect([second.ended, second.asked, writes()]).toEqual(['completed', [], []]);
  expect(world()).toEqual(before);
});

describe('a creation that fails', () => {
  const CREATIONS: [string, RegExp][] = [
    ['the database', /^POST \/d1\/database$/],
    ['Access', /^POST \/access\/organizations$/],
    ['the login method', /^POST \/access\/identity_providers$/],
    ['the policy', /^POST \/access\/policies$/],
    ['the application', /^POST \/access\/apps$/],
    ['the rule', /^PUT \/zones\/.*\/entrypoint$/],
  ];
  const FAULTS: Fault[] = ['lost', '500', 'refused', '403'];
  test.each(CREATIONS)('%s is created once, however its creation fails', async (_, call) => {
    await run();
    const reference = world();
    for (const fault of FAULTS) {
      await fake.close();
      await rm(join(directory, 'production.toml'));
      fake = await startFakeCloudflare();
      fake.fail(call, fault);
      const { ended } = await run();
      // A lost answer alone ends nothing, unless what was created is found only by its id.
      expect(ended).toMatch(
        fault === '403'
          ? /^Not created: .* The token lacks [A-Z].* Run the command again\.$/
          : /^completed$|^Not created: .* Cloudflare's API (did not respond|responded)/,
      );
      expect((await run()).ended).toBe('completed');
      expect(world()).toEqual(reference);
      expect(fake.unknown).toEqual([]);
    }
  });

  test('the first migration is repeated after wrangler has created its own table only', async () => {
    table('create table d1_migrations (id integer primary key autoincrement, name text unique)')();
    expect((await run()).ended).toBe('completed');
    expect(fake.state.databases).toHaveLength(1);
  });

  test('that a killed setup completes meanwhile is not repeated', async () => {
    fake.fail(/^POST \/d1\/database$/, 'slow');
    const ended = run();
    await vi.waitUntil(() => writes().length === 1);
    const body = '{"name":"ticket-write-back"}';
    await api(ACCOUNT)('/d1/database', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    expect((await ended).ended).toBe('completed');
    expect(fake.state.databases).toHaveLength(1);
  });
});

/** The database of the deployment exists, with these tables. */
const table = (sql: string) => () => {
  const made = new DatabaseSync(':memory:');
  made.exec(sql);
  fake.state.databases.push({ uuid: '00000000-0000-4000-8000-000000000009', name: 'ticket-write-back', sql: made });
};

describe('setup takes nothing from others', () => {
  const application = (domain: string) => ({ id: domain, name: domain, domain, aud: 'aud' });
  const withAccess = () => {
    fake.state.organization = { auth_domain: 'northwind.cloudflareaccess.com' };
  };
  test.each<[string, () => unknown, RegExp]>([
    [
      'a host with a DNS record',
      () => fake.state.records.push({ type: 'A', name: HOST, content: '192.0.2.1' }),
      /^tickets\.example\.com is in use, by the DNS record A 192\.0\.2\.1\./,
    ],
    [
      'the host of another Worker',
      () => fake.state.domains.push({ hostname: HOST, service: 'shop' }),
      /is in use, by the Worker shop\./,
    ],
    [
      'a Worker with another database',
      () =>
        fake.state.scripts.set(WORKER, {
          bindings: [{ type: 'd1', name: 'DB', text: 'other' }],
          secrets: {},
          tag: 't',
        }),
      /^The Worker ticket-write-back-api has another database\./,
    ],
    [
      'a database with foreign tables',
      table('create table orders (id)'),
      /^The database ticket-write-back has tables that this release did not create\./,
    ],
    [
      'a database of another release',
      table("create table d1_migrations (id, name); insert into d1_migrations values (1, '0000_foundation.sql')"),
      /^The database ticket-write-back has tables that this release did not create\./,
    ],
    [
      'a database in another jurisdiction',
      () => {
        table('')();
        Object.assign(fake.state.databases[0] ?? {}, { jurisdiction: 'eu' });
      },
      /^The database ticket-write-back exists with the jurisdiction eu\./,
    ],
    [
      'the key prefix of another deployment',
      () => deploy({ eu: { name: 'eu', host: 'eu.example.com' } }),
      /^eu and production have the same key prefix, twb\./,
    ],
    [
      'two applications for the path',
      () => {
        withAccess();
        fake.state.applications.push(application(`${HOST}/settings`), application(`${HOST}/settings/*`));
      },
      /^Access has several applications for tickets\.example\.com\/settings\./,
    ],
    [
      'an application for the whole host',
      () => {
        withAccess();
        fake.state.applications.push(application('*.example.com'));
      },
      /^An application of Access covers \*\.example\.com: the API would need a sign-in\./,
    ],
  ])('%s', async (_, plant, says) => {
    await plant();
    expect((await run()).ended).toMatch(says);
    expect(writes()).toEqual([]);
  });

  test('rules of the zone and policies of others stay', async () => {
    const rules = [{ id: 'theirs', ref: 'theirs', expression: 'true' }];
    fake.state.rules = [...rules];
    expect((await run()).ended).toBe('completed');
    expect(fake.state.rules.map(({ ref }) => ref)).toEqual(['ticket_write_back', 'theirs']);
  });
});

describe('setup says what is missing before it creates anything', () => {
  test('every permission of the token', async () => {
    fake.state.forbidden = /\/(d1|access\/apps|access\/policies|rulesets|dns_records|workers\/routes)\b/;
    expect((await run()).ended).toBe(
      'The token lacks these permissions, and nothing was created: DNS: Read; Workers Routes: Edit; D1: Edit; Access: Apps and Policies: Edit; Zone WAF: Edit.',
    );
    expect(writes()).toEqual([]);
  });

  test('a permission to write that the token lacks is named, and the next setup completes', async () => {
    fake.state.forbidden = /^POST \/access\/apps/;
    expect((await run()).ended).toBe(
      `Not created: sign-in for ${HOST}/settings, with a policy that admits ada@northwind.example. Cloudflare's API responded to POST /access/apps with 403: Authentication error (10000). The token lacks Access: Apps and Policies: Edit: see src/ops/deploy.md. Run the command again.`,
    );
    fake.state.forbidden = undefined;
    expect((await run()).ended).toBe('completed');
  });

  test.each<[string, () => void, Partial<Record<Question, string>>, RegExp]>([
    [
      'Zero Trust',
      () => Object.assign(fake.state.enabled, { access: false }),
      {},
      /^Not created: .* Zero Trust is not enabled: open it in the dashboard once\. Run the command again\.$/,
    ],
    [
      'a domain',
      () => undefined,
      { host: 'tickets.example.org' },
      /^The account has no active domain for tickets\.example\.org/,
    ],
    [
      'JSON',
      () => fake.fail(/^GET \/d1\/database$/, 'html', 9),
      {},
      /^Cloudflare's API responded to GET \/d1\/database with 502, and not as its documentation says\.$/,
    ],
  ])('%s', async (_, plant, answers, says) => {
    plant();
    expect((await run({ answers })).ended).toMatch(says);
  });

  test('an answer that breaks a rule', async () => {
    for (const [question, answer] of Object.entries({
      host: 'x y',
      place: 'mars',
      administrator: 'ada',
      organization: 'a b',
      'time-zone': 'Mars',
    }))
      expect((await run({ answers: { [question]: answer } })).ended).toMatch(new RegExp(`^${question}: `));
    expect(writes()).toEqual([]);
  });
});

test('with --plan, setup ends after the plan', async () => {
  const { ended, printed } = await run({ plan: true });
  expect([ended, printed.at(-1), writes()]).toEqual(['completed', `  deploy  ${WORKER} and ${WORKER}-agents`, []]);
});

test('a team and a login method that exist are used, and the application lists that method alone', async () => {
  fake.state.organization = { auth_domain: 'contoso.cloudflareaccess.com' };
  fake.state.logins = [
    { id: 'okta', type: 'okta', name: 'Okta' },
    { id: 'google', type: 'google', name: 'Google' },
  ];
  expect((await run()).ended).toMatch(/^login: /);
  const { ended, asked } = await run({ answers: { login: 'Google' } });
  expect([ended, asked.includes('team')]).toEqual(['completed', false]);
  expect(fake.state.applications).toMatchObject([{ allowed_idps: ['google'] }]);
  expect(fake.state.logins).toHaveLength(2);
});

test('a setting of Access that keeps automations out is in the plan', async () => {
  const organization = { auth_domain: 'northwind.cloudflareaccess.com', deny_unmatched_requests: true };
  fake.state.organization = organization;
  const denial = /^Access refuses requests that no application covers \(deny_unmatched_requests\)/;
  expect((await run({ plan: true })).printed.at(-1)).toMatch(denial);
  fake.state.organization = { ...organization, deny_unmatched_requests_exempted_zone_names: ['example.com'] };
  expect((await run({ plan: true })).printed.at(-1)).not.toMatch(denial);
});

test('a lost file is rebuilt with the variables of the deployed Workers', async () => {
  await run();
  const path = join(directory, 'production.toml');
  const before = parse(await readFile(path, 'utf8'));
  fake.state.scripts.get(WORKER)?.bindings.push({ type: 'plain_text', name: 'KEY_LIMIT', text: '100/10s' });
  await rm(path);
  const { ended, asked } = await run();
  expect([ended, asked]).toEqual(['completed', ['host', 'place']]);
  expect(parse(await readFile(path, 'utf8'))).toEqual({
    ...before,
    vars: { DATABASE_LIMIT: '500MB', KEY_LIMIT: '100/10s' },
  });
});

test('a deployment with another provider of sign-ins is refused before anything changes', async () => {
  const vars = { ADMIN_ISSUER: 'https://login.example', ADMIN_JWKS_URL: 'https://login.example/jwks' };
  await deploy({ production: { host: HOST, audience: 'aud', vars } });
  expect((await run()).ended).toMatch(/^Setup is for a sign-in with Cloudflare Access, and ADMIN_ISSUER is set/);
  expect(writes()).toEqual([]);
});

test('with --psa, the secrets that are missing are uploaded with the code, and no others', async () => {
  expect((await run({ psa: true })).stored).toEqual(['PSA_SECRET', 'WEBHOOK_SECRET']);
  const secrets = fake.state.scripts.get(WORKER)?.secrets;
  expect(secrets).toEqual({
    PSA_SECRET: expect.stringMatching(/^whsec_.{44}$/),
    WEBHOOK_SECRET: expect.stringMatching(/^whsec_.{44}$/),
  });
  expect((await run({ psa: true })).stored).toEqual([]);
});

test('the token is sent to Cloudflare and to this machine only', () => {
  const env = { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_API_BASE_URL: 'https://api.example.com' };
  expect(() => cloudflareApi(ACCOUNT, env)).toThrow('CLOUDFLARE_API_BASE_URL is not an address of this machine');
});

test.each(['setup', 'deploy'])('npm run %s prints its help, and its usage after a wrong option', async (script) => {
  const start = (option: string) => promisify(execFile)('node', [`src/ops/deploy/${script}-command.ts`, option]);
  const usage = `Usage: npm run ${script} -- [NAME`;
  expect(await start('--help')).toMatchObject({ stdout: expect.stringContaining(usage), stderr: '' });
  const stderr = expect.stringMatching(/^Unknown option '--wrong'.*\n\nUsage: .*\n.* --help\n$/);
  await expect(start('--wrong')).rejects.toMatchObject({ code: 2, stdout: '', stderr });
});
