import { readdir, readFile } from 'node:fs/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { COMMON_VARIABLES } from '../../../src/adapters/kit/settings.ts';
import { definitionOf } from '../../../src/ops/adapters.ts';
import { readDeployment } from '../../../src/ops/deploy/deployment-file.ts';
import { writeAdapterConfigs } from '../../../src/ops/deploy/render-configs.ts';
import { fakeRedmine } from '../../adapters/fake-redmine.ts';
import { serveFake } from '../../adapters/serve-fake.ts';
import { wrangler } from '../../support/command.ts';
import { writeDeployments } from '../../support/deployments.ts';
import { fakeDeployment } from '../../support/fake-cloudflare.ts';
import { runCli } from '../../support/run-cli.ts';
import { commandsOf, databaseOfTest } from './database.ts';

afterEach(() => vi.unstubAllEnvs());

const COMMON = { ORGANIZATION_NAME: 'Northwind IT', TIME_ZONE: 'UTC', DEFAULT_HOURLY_RATE: '120', TEST_TICKET: '501' };
const REDMINE = { REDMINE_URL: 'https://redmine.example/', REDMINE_ACTIVITY: '10' };
const CONNECTWISE = {
  ...{ CW_URL: 'https://api-eu.myconnectwise.net', CW_COMPANY: 'northwind' },
  ...{ CW_CLIENT_ID: '00000000-0000-4000-8000-000000000000', CW_AUTOMATION_MEMBER: 'automation' },
};
const HALO = {
  ...{ HALO_URL: 'https://northwind.halopsa.com', HALO_CLIENT_ID: 'client' },
  ...{ HALO_AUTOMATION_AGENT: '9', HALO_OUTCOME: 'Automation', HALO_CHARGE_BILLABLE: '2' },
};
const adapterOf = (psa: string, vars: Record<string, string>) => ({
  ...{ psa, organization: 'northwind', administrators: ['Ada@northwind.example'] },
  vars: { ...COMMON, ...vars },
});
const deployments = (adapters: object) => writeDeployments({ eu: { place: 'eu', adapters } });

async function render(adapters: object) {
  vi.stubEnv('DEPLOYMENTS_DIRECTORY', (await deployments(adapters)).DEPLOYMENTS_DIRECTORY);
  return writeAdapterConfigs('adapters-test', await readDeployment());
}

test('an adapter is a Worker without an address, bound to one organization, which wrangler deploys', async () => {
  const [config, ...others] = await render({
    one: adapterOf('redmine', REDMINE),
    two: adapterOf('connectwise', CONNECTWISE),
    three: adapterOf('halo', HALO),
  });
  expect(others).toHaveLength(2);
  expect(config).toMatchObject({
    name: 'ticket-write-back-adapter-one',
    ...{ workers_dev: false, preview_urls: false, triggers: { crons: ['* * * * *'] } },
    vars: { ...COMMON, ...REDMINE, ORGANIZATION: 'northwind', JURISDICTION: 'eu' },
    services: [
      {
        ...{ binding: 'CONNECTION', service: 'ticket-write-back-api', entrypoint: 'Connection' },
        props: { organization: 'northwind', administrators: ['ada@northwind.example'] },
      },
    ],
  });
  expect(config).not.toHaveProperty('routes');
  // modules.test.ts builds each one.
  await wrangler('deploy', '-c', config?.path ?? '', '--dry-run', '--outdir', 'build/adapters-test');
  const folders = (await readdir('src/adapters', { withFileTypes: true })).filter((one) => one.isDirectory());
  expect(folders.map(({ name }) => name).sort()).toEqual(['connectwise', 'halo', 'kit', 'redmine']);
});

test.each<[string, string, Record<string, string>, RegExp]>([
  ['a missing variable', 'redmine', {}, /REDMINE_URL is missing\. REDMINE_ACTIVITY is missing\./],
  [
    'an unknown variable',
    'redmine',
    { ...REDMINE, REDMINE_ULR: 'x' },
    /REDMINE_ULR is not a variable of this adapter\./,
  ],
  ['a secret', 'redmine', { ...REDMINE, REDMINE_KEY: 'x' }, /REDMINE_KEY is a secret\./],
  ['http', 'redmine', { ...REDMINE, REDMINE_URL: 'http://psa.example' }, /REDMINE_URL: its value is not an https:/],
  ['another scheme', 'halo', { ...HALO, HALO_URL: 'javascript:alert(1)' }, /HALO_URL: its value is not an https:/],
  [
    'a password in the address',
    'connectwise',
    { ...CONNECTWISE, CW_URL: 'https://key:pw@psa.example' },
    /CW_URL: its value has a user name or password/,
  ],
  [
    'a path in the address',
    'connectwise',
    { ...CONNECTWISE, CW_URL: 'https://api-eu.myconnectwise.net/v4_6_release/apis/3.0' },
    /CW_URL: its value has a path: name the site only\./,
  ],
  [
    'a query',
    'halo',
    { ...HALO, HALO_URL: 'https://psa.example?x=1' },
    /HALO_URL: its value has a query or a fragment/,
  ],
  ['a fragment', 'halo', { ...HALO, HALO_URL: 'https://psa.example/#y' }, /HALO_URL: its value has a query or a frag/],
  [
    'no charge type of billable time',
    'halo',
    Object.fromEntries(Object.entries(HALO).filter(([name]) => name !== 'HALO_CHARGE_BILLABLE')),
    /HALO_CHARGE_BILLABLE is missing\./,
  ],
  [
    'one charge type for all time',
    'halo',
    { ...HALO, HALO_CHARGE_NOT_BILLABLE: '2' },
    /HALO_CHARGE_BILLABLE: it must differ from HALO_CHARGE_NOT_BILLABLE, because the charge type decides what is billed\./,
  ],
  ['an unknown PSA', 'autotask', {}, /There is no adapter for the PSA autotask: connectwise, halo, redmine\./],
])('the file of a deployment with %s is refused', async (_, psa, vars, message) => {
  await expect(render({ one: adapterOf(psa, vars) })).rejects.toThrow(message);
});

test.each(['connectwise', 'halo', 'redmine'])(
  'the page of %s has at most ten steps, and each variable',
  async (psa) => {
    const { variables, secrets } = await definitionOf({ psa });
    const page = await readFile(`build/static/docs/psa/${psa}.md`, 'utf8');
    expect(page.match(/^### /gm)?.length).toBeLessThanOrEqual(10);
    for (const name of Object.keys({ ...COMMON_VARIABLES.shape, ...variables.shape, ...secrets.shape }))
      if (!['ORGANIZATION', 'RESUME'].includes(name)) expect(page).toContain(`\`${name}\``);
  },
);

test('adapter:doctor only reads, and names what is wrong', async () => {
  const fake = fakeRedmine(Date.now);
  const { url } = await serveFake(fake);
  const run = async (vars: Record<string, string>, secrets: object = { REDMINE_KEY: 'service' }) => {
    const env = await deployments({ one: adapterOf('redmine', { REDMINE_URL: url, ...vars }) });
    return runCli('adapter:doctor', [], { env: { ...env, REDMINE_ADMIN_KEY: 'admin', ...secrets } });
  };
  const { code, stdout } = await run({ REDMINE_ACTIVITY: '10' });
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^(ok {4}.*\n){5}$/)]);
  expect(Object.keys(fake.data.calls).every((call) => call.startsWith('GET '))).toBe(true);
  const wrong = await run({ REDMINE_ACTIVITY: '11' });
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('There is no activity 11.')]);
  const unset = await run({ REDMINE_ACTIVITY: '10' }, {});
  expect([unset.code, unset.stderr]).toEqual([1, 'Set REDMINE_KEY in the environment.\n']);
});

test('adapter:doctor --remote also names what the test of time found, and fails if the adapter is silent', async () => {
  const { url } = await serveFake(fakeRedmine(Date.now));
  const remote = await databaseOfTest();
  const vars = { REDMINE_URL: url, REDMINE_ACTIVITY: '10' };
  const one = { ...adapterOf('redmine', vars), organization: 'fabrikam' };
  const secrets = { REDMINE_KEY: 'service', REDMINE_ADMIN_KEY: 'admin' };
  const env = { ...remote.env, ...(await deployments({ one })), ...secrets };
  const doctor = () => runCli('adapter:doctor', ['--remote'], { env });
  expect((await doctor()).stderr).toBe('No adapter has reported for fabrikam.\n');
  const report = (failure: string | null, at = Date.now()) =>
    remote.db
      .prepare(
        'insert or replace into connections (organization_id, adapter_id, reported_at, failing_since, failure) values (?, ?, ?, ?, ?)',
      )
      .bind('fabrikam', 'a', at, failure && at, failure)
      .run();
  const failure = 'Time entries wait for their test on ticket 501: Of billable time, billable is 0, not 1.';
  await report(failure);
  expect(await doctor()).toMatchObject({ code: 1, stderr: expect.stringContaining(failure) });
  await report(null, Date.now() - 5 * 60_000);
  expect(await doctor()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^The adapter is silent since \d{4}-/),
  });
  await report(null);
  expect(await doctor()).toMatchObject({ code: 0, stdout: expect.stringMatching(/the adapter is connected.*\n$/) });
});

test('adapter:status shows whether an adapter is connected, is silent, fails or has stopped, until it is forgotten', async () => {
  const remote = await databaseOfTest();
  const run = commandsOf(remote);
  const status = async () => (await run('adapter:status')).stdout;
  expect(await status()).toBe('No adapter has reported.\n');
  await remote.db.batch([
    remote.db.prepare(
      "insert into organizations (id, name, has_psa, time_zone, default_hourly_rate_minor, active) values ('acme', 'Acme', 1, 'UTC', 1, 1)",
    ),
    remote.db.prepare(
      "insert into connections (organization_id, adapter_id, reported_at, failing_since, failure, stopped_at) values ('acme', 'a', 0, 0, 'A customer can see a note.', 0)",
    ),
  ]);
  expect(await status()).toBe(
    'acme: STOPPED since 1970-01-01T00:00:00.000Z; last report 1970-01-01T00:00:00.000Z of a\n  A customer can see a note.\n',
  );
  const report = (failure: string | null, at: number) =>
    remote.db
      .prepare(
        "insert or replace into connections (organization_id, adapter_id, reported_at, failing_since, failure) values ('acme', 'a', ?, ?, ?)",
      )
      .bind(at, failure && at, failure)
      .run();
  const minutesAgo = (minutes: number) => Date.now() - minutes * 60_000;
  await report(null, minutesAgo(4));
  expect(await status()).toMatch(/^acme: connected; /);
  await report(null, minutesAgo(5));
  expect(await status()).toMatch(/^acme: silent since \d{4}-/);
  await report('HTTP 401', minutesAgo(1));
  expect(await status()).toMatch(/^acme: failing since .*\n {2}HTTP 401\n$/);
  const forget = () => run('adapter:forget', '--organization', 'acme');
  expect((await forget()).stdout).toBe('The adapter of acme is forgotten.\n');
  expect(await status()).toBe('No adapter has reported.\n');
  expect(await forget()).toMatchObject({ code: 1, stderr: 'No adapter has reported for acme.\n' });
});

test('adapter:resume sets the secret RESUME of the Worker to a new text', async () => {
  const { state, env } = await fakeDeployment({ 'ticket-write-back-adapter-one': {} });
  const files = await deployments({ one: adapterOf('redmine', REDMINE) });
  const { code, stdout } = await runCli('adapter:resume', [], { env: { ...files, ...env } });
  expect([code, stdout]).toEqual([0, expect.stringContaining('ticket-write-back-adapter-one resumes within a minute')]);
  const { secrets } = state.scripts.get('ticket-write-back-adapter-one') ?? {};
  expect(secrets).toEqual({ RESUME: expect.stringMatching(/^\d{4}-.*Z$/) });
});

test('adapter:resume needs to know which adapter', async () => {
  const env = await deployments({ one: adapterOf('redmine', REDMINE), two: adapterOf('redmine', REDMINE) });
  const { code, stderr } = await runCli('adapter:resume', [], { env });
  expect([code, stderr]).toEqual([2, expect.stringContaining('Name the adapter: one, two.')]);
});
