import { readFile } from 'node:fs/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { cloudflareApi } from '../../../src/ops/cloudflare-api.ts';
import { deployWorkers } from '../../../src/ops/deploy/deploy-workers.ts';
import { agrees, PROGRAM_LOG, programRunner } from '../../../src/ops/deploy/deployment-tools.ts';
import { MINIMAL, writeDeployments } from '../../support/deployments.ts';
import { fakeDeployment, type Script } from '../../support/fake-cloudflare.ts';

// A deployment pauses between its requests to the host.
vi.mock('node:timers/promises', () => ({ setTimeout: async () => undefined }));

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const HOST = MINIMAL.host;
const WORKER = 'ticket-write-back-api';
const plain = (name: string, text: string) => ({ type: 'plain_text', name, text });
const DATABASE = { type: 'd1', name: 'DB', id: MINIMAL.database };
/** The bindings of a Worker that was deployed from the file with only the required settings. */
const AS_DEPLOYED = [
  plain('KEY_PREFIX', 'twb'),
  plain('JURISDICTION', ''),
  plain('SERVICE_URL', `https://${HOST}`),
  DATABASE,
];

/** What is on Cloudflare. */
interface World {
  workers?: Record<string, Script['bindings']>;
  domains?: { hostname: string; service: string }[];
  records?: { type: string; content: string }[];
  routes?: { pattern: string; script?: string }[];
  /** Statements for the database. */
  sql?: string;
}

async function fakeOf({ workers = {}, domains = [], records = [], routes = [], sql = '' }: World) {
  const deployed = Object.entries(workers).map(([name, bindings]) => [name, { bindings }] as const);
  const fake = await fakeDeployment(Object.fromEntries(deployed));
  fake.sql.exec(sql);
  Object.assign(fake.state, { domains, routes, records: records.map((record) => ({ ...record, name: HOST })) });
  return fake;
}

/** Deploys with wrangler and the build written down; `fails` is a step that fails. `waits` is what it waited for. */
async function deployTo(
  world: World,
  { settings = {}, migrate = false, dryRun = false, answer = false, fails = '', isUp = (): boolean => true } = {},
) {
  vi.stubEnv('DEPLOYMENTS_DIRECTORY', (await writeDeployments({ eu: settings })).DEPLOYMENTS_DIRECTORY);
  const { env } = await fakeOf(world);
  const steps: string[] = [];
  const printed: string[] = [];
  const ended = await deployWorkers(
    'eu',
    { migrate, dryRun },
    {
      run: async (program, args) => {
        const step = [program, ...args].join(' ').replace('build/deployments/', '');
        steps.push(step);
        if (step === fails) throw new Error(`${step} failed`);
      },
      api: (account) => cloudflareApi(account, env),
      print: (line) => printed.push(line),
      agrees: async () => {
        steps.push('ask');
        return answer;
      },
      fetch: async (url) => {
        steps.push(`GET ${url}`);
        if (!isUp()) throw new TypeError('fetch failed');
        return Response.json({ status: 'ok' });
      },
    },
  ).then(
    () => 'deployed',
    (err: Error) => err.message,
  );
  const waits = printed.filter((line) => line.endsWith(' ...'));
  return { ended, steps, waits, printed: printed.filter((line) => !waits.includes(line)) };
}

const BUILD = 'build --deployment eu';
const MIGRATE = 'wrangler d1 migrations apply DB --remote -c eu/main.json';
const HEALTH = `GET https://${HOST}/healthz`;

test('a deployment builds, migrates, deploys both Workers, and waits for the host', async () => {
  const { ended, steps, printed, waits } = await deployTo({}, { settings: { agents: true }, migrate: true });
  expect([ended, steps]).toEqual([
    'deployed',
    [BUILD, MIGRATE, 'wrangler deploy -c eu/main.json', 'wrangler deploy -c eu/agents.json', HEALTH],
  ]);
  expect(printed).toEqual([`${WORKER} is new.`, `eu is deployed: https://${HOST}`]);
  expect(waits).toEqual([
    'Building eu ...',
    'Migrating the database ...',
    `Deploying ${WORKER} ...`,
    `Deploying ${WORKER}-agents ...`,
    `Waiting for https://${HOST}/healthz (a new host takes up to ten minutes) ...`,
  ]);
});

test('a deployment waits for a late certificate, and after ten minutes says how to continue', async () => {
  let requests = 0;
  expect((await deployTo({}, { isUp: () => ++requests === 2 })).ended).toBe('deployed');
  const { now } = Date;
  vi.spyOn(Date, 'now').mockImplementation(() => now() + requests * 11 * 60_000);
  expect((await deployTo({}, { isUp: () => ++requests < 0 })).ended).toMatch(
    /^https:\/\/tickets\.example\.com\/healthz did not respond with 200 within 10 minutes\..* run the command again\.$/,
  );
});

test('the error of a program shows the end of its output, and the file with all of it', async () => {
  const program = programRunner();
  await expect(program('build', ['--deployment', 'none'])).rejects.toThrow(
    /There is no deployment[\s\S]*\n\nbuild --deployment none failed\. The deployment ends here\. All output is in build\/deploy\.log\.$/,
  );
  expect(await readFile(PROGRAM_LOG, 'utf8')).toMatch(/^\n> build --deployment none\n/);
});

test('a bundle that cannot be built changes nothing, not even the schema', async () => {
  const { ended, steps } = await deployTo({}, { migrate: true, fails: BUILD });
  expect([ended, steps]).toEqual([`${BUILD} failed`, [BUILD]]);
});

test('a deployment shows each variable that it adds, changes or removes, without a question', async () => {
  const deployed = [...AS_DEPLOYED, plain('KEY_LIMIT', '200/10s'), plain('TICKET_URL', 'https://psa.example/{ticket}')];
  const domains = [{ hostname: HOST, service: WORKER }];
  const settings = { vars: { KEY_LIMIT: '100/10s', IP_LIMIT: '90/1s' } };
  const { steps, printed } = await deployTo({ workers: { [WORKER]: deployed }, domains }, { settings, migrate: true });
  expect(printed.slice(0, -1)).toEqual([
    'IP_LIMIT "90/1s" is added.',
    'KEY_LIMIT "200/10s" becomes "100/10s".',
    'TICKET_URL "https://psa.example/{ticket}" is removed.',
  ]);
  expect(steps).toEqual([BUILD, MIGRATE, 'wrangler deploy -c eu/main.json', HEALTH]);
});

test('a deployment names the Workers of adapters that the file no longer contains', async () => {
  const workers = { [WORKER]: AS_DEPLOYED, 'ticket-write-back-adapter-old': [], 'other-adapter-old': [] };
  const { printed } = await deployTo({ workers, domains: [{ hostname: HOST, service: WORKER }] });
  expect(printed.slice(0, -1)).toEqual([
    'ticket-write-back-adapter-old is deployed, and not in the file: it still connects its organization. See src/adapters/README.md.',
  ]);
});

test.each<[World, object, string]>([
  [{ workers: { [WORKER]: AS_DEPLOYED } }, { vars: { KEY_PREFIX: 'eu' } }, 'The key prefix changes from twb to eu: '],
  [{ workers: { [WORKER]: AS_DEPLOYED } }, { place: 'eu' }, 'The jurisdiction changes from none to eu: '],
  [
    { workers: { [WORKER]: [...AS_DEPLOYED.slice(0, 3), { ...DATABASE, id: 'old' }] } },
    {},
    `The database changes from old to ${MINIMAL.database}: `,
  ],
  [{ domains: [{ hostname: HOST, service: 'shop' }] }, {}, `${HOST} is taken from the Worker shop.`],
  [{ records: [{ type: 'A', content: '192.0.2.1' }] }, {}, `${HOST} is taken from the DNS record A 192.0.2.1.`],
])('a deployment asks before it goes on: %j %j', async (world, settings, risk) => {
  const refused = await deployTo(world, { settings, migrate: true });
  expect(refused).toMatchObject({ ended: 'eu was not deployed.', steps: [BUILD, 'ask'] });
  expect(refused.printed.at(-1)).toContain(risk);
  expect((await deployTo(world, { settings, answer: true })).steps.slice(1)).toEqual([
    'ask',
    'wrangler deploy -c eu/main.json',
    HEALTH,
  ]);
});

test('without a terminal, a deployment that must ask stops', async () => {
  await expect(agrees('Type yes: ')).rejects.toThrow('This needs a confirmation: run the command in a terminal.');
});

test('a dry run shows changes and risks, and changes nothing', async () => {
  const { ended, steps, printed } = await deployTo(
    { domains: [{ hostname: HOST, service: 'shop' }] },
    { dryRun: true, migrate: true },
  );
  expect([ended, steps, printed.at(-1)]).toEqual(['deployed', [BUILD], `${HOST} is taken from the Worker shop.`]);
});

test('a database with an unknown migration stops the deployment before anything changes', async () => {
  const { ended, steps } = await deployTo(
    { sql: "create table d1_migrations (id, name); insert into d1_migrations values (1, '0000_foundation.sql')" },
    { migrate: true },
  );
  expect([ended, steps]).toEqual([
    expect.stringMatching('unknown migration 0000_foundation.sql.* Create a new database'),
    [BUILD],
  ]);
});

test('a Worker for AI agents is not left with its old code', async () => {
  const { ended, steps } = await deployTo({ workers: { [`${WORKER}-agents`]: [] } });
  expect([ended, steps]).toEqual([
    expect.stringContaining(`${WORKER}-agents is deployed, and would keep its code`),
    [BUILD],
  ]);
});

test.each([
  ['shop', 'shop'],
  [undefined, 'no Worker'],
])('a route of the Worker for AI agents that is assigned to %s stops the deployment', async (script, owner) => {
  const routes = [{ pattern: `${HOST}/mcp*`, ...(script && { script }) }];
  const { ended, steps } = await deployTo({ routes }, { settings: { agents: true }, answer: true });
  expect([ended, steps]).toEqual([`The route ${HOST}/mcp* is assigned to ${owner}: delete that route first.`, [BUILD]]);
});

test('the routes of the deployment itself and of other hosts do not stop a deployment', async () => {
  const routes = [
    { pattern: `${HOST}/mcp*`, script: `${WORKER}-agents` },
    { pattern: 'shop.example.com/mcp*', script: 'shop' },
  ];
  expect((await deployTo({ routes }, { settings: { agents: true } })).ended).toBe('deployed');
});

test('a token without a permission stops the deployment', async () => {
  const { ended } = await deployTo({ workers: {} }, { settings: { zone: 'tickets.example.com' } });
  expect(ended).toBe('The token sees no zone tickets.example.com.');
});
