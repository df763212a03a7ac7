import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { writeDeployments } from '../../support/deployments.ts';
import { fakeDeployment } from '../../support/fake-cloudflare.ts';
import { listen } from '../../support/listen.ts';
import { runCli } from '../../support/run-cli.ts';

/** Cloudflare with a deployment, and what the doctor prints of it. */
async function deploy() {
  const service = createServer((_, response) => void response.writeHead(401).end());
  const url = await listen(service);
  onTestFinished(() => void service.close());
  const fake = await fakeDeployment();
  fake.sql.exec('create table d1_migrations (name)');
  const env = { ...fake.env, ...(await writeDeployments({ eu: {}, us: {} })) };
  const run = async () => (await runCli('doctor', [url, '--deployment', 'us'], { env })).stdout;
  return { fake, run };
}

test('the doctor shows whether the database has read replicas', async () => {
  const { fake, run } = await deploy();
  expect(await run()).toMatch(/^ok {4}read replication: off: would save one trip to the database/m);
  Object.assign(fake.state.databases[0] ?? {}, { replication: 'auto' });
  expect(await run()).toMatch(/^ok {4}read replication: on: saves one trip to the database/m);
});

test('the doctor shows whether Access keeps automations out, if the token may read that', async () => {
  const { fake, run } = await deploy();
  const organization = { auth_domain: 'northwind.cloudflareaccess.com', deny_unmatched_requests: true };
  expect(await run()).toMatch(/^ok {4}Cloudflare Access: lets requests pass/m);
  fake.state.organization = organization;
  expect(await run()).toMatch(
    /^FAIL {2}Cloudflare Access: .*deny_unmatched_requests.* exempt the zone example\.com\.$/m,
  );
  fake.state.organization = { ...organization, deny_unmatched_requests_exempted_zone_names: ['example.com'] };
  expect(await run()).toMatch(/^ok {4}Cloudflare Access: lets requests pass/m);
  fake.state.forbidden = / \/access\//;
  expect(await run()).toMatch(/^ok {4}Cloudflare Access: .* was not read: the token lacks Access: Organizations/m);
});
