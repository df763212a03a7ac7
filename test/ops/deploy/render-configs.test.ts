import { convertV4MiniflareOptions, Miniflare } from 'miniflare';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { readDeployment, SECRET_STAND_IN } from '../../../src/ops/deploy/deployment-file.ts';
import { renderConfigs } from '../../../src/ops/deploy/render-configs.ts';
import { MINIMAL, writeDeployments } from '../../support/deployments.ts';
import { readBundle } from '../../support/production-worker.ts';
import { productionBundle } from '../../support/shared.ts';

afterEach(() => vi.unstubAllEnvs());

/** Of the core: the file of a deployment cannot contain the variables of a module that was deleted. */
const EVERY_VARIABLE = {
  KEY_PREFIX: 'eu',
  IP_LIMIT: '100/10s',
  KEY_LIMIT: '20/10s',
  KEY_DAY_LIMIT: '2000/6MB',
  ORGANIZATION_DAY_LIMIT: '10000/25MB',
  ADMIN_JWKS_URL: 'https://northwind.cloudflareaccess.com/certs',
  ADMIN_TOKEN_HEADER: 'Authorization',
  DATABASE_LIMIT: '500MB',
  TICKET_URL: 'https://psa.example/tickets/{ticket}',
  WEBHOOK_URL: 'https://psa.example/hook',
  SECURITY_CONTACT: 'mailto:security@example.com',
  SECURITY_EXPIRES: '2027-06-30',
};
const FULL = {
  ...{ name: 'twb-eu', place: 'eu', team: 'northwind', audience: 'aud', agents: true, traces: true },
  vars: EVERY_VARIABLE,
};

async function render(settings: object) {
  vi.stubEnv('DEPLOYMENTS_DIRECTORY', (await writeDeployments({ eu: settings })).DEPLOYMENTS_DIRECTORY);
  return renderConfigs('eu', await readDeployment());
}

test('a file with the required settings gives both Workers names, database and routes', async () => {
  const { main, agents } = await render({});
  const vars = { KEY_PREFIX: 'twb', JURISDICTION: '', SERVICE_URL: 'https://tickets.example.com' };
  const database = { binding: 'DB', database_name: 'ticket-write-back', database_id: MINIMAL.database };
  const common = {
    account_id: MINIMAL.account,
    observability: expect.objectContaining({ traces: { enabled: false } }),
  };
  expect(main).toMatchObject({
    ...common,
    name: 'ticket-write-back-api',
    vars,
    d1_databases: [expect.objectContaining(database)],
    routes: [{ pattern: 'tickets.example.com', custom_domain: true }],
    build: { command: 'node src/dev/render.ts --deployment eu' },
  });
  expect(agents).toMatchObject({
    ...common,
    name: 'ticket-write-back-api-agents',
    routes: [{ pattern: 'tickets.example.com/mcp*', zone_name: 'example.com' }],
    services: [{ binding: 'API', service: main.name, entrypoint: 'Api' }],
  });
});

test('the Worker for AI agents has the entry point of the API, and no other binding or variable', async () => {
  const { agents } = await render(FULL);
  const shared = ['account_id', 'name', 'main', 'compatibility_date', 'workers_dev', 'preview_urls', 'routes'];
  const uploaded = ['minify', 'keep_names', 'upload_source_maps', 'observability'];
  expect(Object.keys(agents).sort()).toEqual([...shared, ...uploaded, 'services'].sort());
});

test('place, host, team and audience determine the variables', async () => {
  const { main } = await render(FULL);
  expect(main.vars).toEqual({
    ...EVERY_VARIABLE,
    JURISDICTION: 'eu',
    SERVICE_URL: 'https://tickets.example.com',
    ADMIN_ISSUER: 'https://northwind.cloudflareaccess.com',
    ADMIN_AUDIENCE: 'aud',
  });
});

/** Starts both rendered Workers, and returns their addresses. */
async function start({ main, agents }: Awaited<ReturnType<typeof render>>) {
  const worker = ({ name, compatibility_date }: typeof main | typeof agents, { script, texts }: Bundle) => ({
    name,
    modules: [{ type: 'ESModule' as const, path: 'index.js', contents: script }, ...texts],
    compatibilityDate: compatibility_date,
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
  });
  const classOf = ({ name, class_name }: { name: string; class_name: string }) =>
    [name, { className: class_name, useSQLite: true }] as const;
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      unsafeEphemeralDurableObjects: true,
      cf: false,
      handleStructuredLogs: () => undefined,
      workers: [
        {
          ...worker(main, await readBundle(await productionBundle())),
          compatibilityFlags: main.compatibility_flags,
          // The local runtime has no jurisdictions.
          bindings: { ...main.vars, ...SECRET_STAND_IN, JURISDICTION: '' },
          d1Databases: { DB: 'db' },
          durableObjects: Object.fromEntries(main.durable_objects.bindings.map(classOf)),
        },
        {
          ...worker(agents, await readBundle(await productionBundle('agents'))),
          serviceBindings: Object.fromEntries(
            agents.services.map(({ binding, service, entrypoint }) => [binding, { name: service, entrypoint }]),
          ),
        },
      ],
    }),
  );
  onTestFinished(() => miniflare.dispose());
  await miniflare.ready;
  return Promise.all([main, agents].map(async ({ name }) => (await miniflare.unsafeGetDirectURL(name)).origin));
}
type Bundle = Awaited<ReturnType<typeof readBundle>>;

test.each([
  ['the required settings', {}, '200 requests in any 10 seconds per key, and 1,200 requests'],
  ['every setting and variable', FULL, '20 requests in any 10 seconds per key, and 100 requests'],
])('both Workers start with %s', async (_, settings, limits) => {
  const [main, agents] = await start(await render(settings));
  const health = await fetch(`${main}/healthz`);
  expect([health.status, await health.json()]).toEqual([
    200,
    expect.objectContaining({ status: 'ok', limits: expect.stringContaining(limits) }),
  ]);
  expect((await fetch(`${agents}/elsewhere`)).status).toBe(404);
  expect((await fetch(`${agents}/mcp`)).status).toBe(401);
});
