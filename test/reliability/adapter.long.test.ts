import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { expect, onTestFinished, test, vi } from 'vitest';
import { adapterConfig } from '../../src/ops/adapters.ts';
import { readDeployment } from '../../src/ops/deploy/deployment-file.ts';
import { withLocalD1 } from '../../src/ops/local.ts';
import { fakeConnectWise } from '../adapters/fake-connectwise.ts';
import { makeAutomation } from '../adapters/redmine/automation.ts';
import { serveFake } from '../adapters/serve-fake.ts';
import { writeDeployments } from '../support/deployments.ts';
import { copyDatabase, productionBundle } from '../support/shared.ts';
import { fastClock } from './fast-clock.ts';
import { restartable, UNLIMITED_VARS } from './restartable.ts';

const [RECORDS, KILLS] = [100, 20];
const ORGANIZATION = 'contoso';
const VARS = { ORGANIZATION_NAME: 'Contoso', TIME_ZONE: 'UTC', DEFAULT_HOURLY_RATE: '120', TEST_TICKET: '501' };

/** The service and the adapter, each in a process of its own, with the settings that a deployment renders. */
async function makeProcesses(env: Record<string, string>, startedAt: number) {
  const { CW_PUBLIC_KEY = '', CW_PRIVATE_KEY = '', ...own } = env;
  const [service, adapter] = await Promise.all([copyDatabase(), copyDatabase()]);
  onTestFinished(async () => void (await Promise.all([service.remove(), adapter.remove()])));
  const settings = {
    ...{ psa: 'connectwise', organization: ORGANIZATION, administrators: ['ada@northwind.example'] },
    vars: { ...VARS, ...own },
  };
  vi.stubEnv(
    'DEPLOYMENTS_DIRECTORY',
    (await writeDeployments({ eu: { adapters: { one: settings } } })).DEPLOYMENTS_DIRECTORY,
  );
  const { vars, services } = await adapterConfig(await readDeployment(), 'one');
  vi.unstubAllEnvs();
  const script = join(adapter.persistTo, 'adapter.js');
  await build({
    ...{ entryPoints: [join(import.meta.dirname, 'adapter-worker.ts')], outfile: script, bundle: true },
    ...{ format: 'esm', external: ['cloudflare:*'], logLevel: 'error' },
  });
  const worker = { script, props: services[0]?.props ?? {}, vars: { ...vars, STARTED_AT: String(startedAt) } };
  const common = { bundle: await productionBundle(), vars: UNLIMITED_VARS };
  const api = await restartable({ ...common, persistTo: service.persistTo, beside: worker });
  const secrets = { CW_PUBLIC_KEY, CW_PRIVATE_KEY, SERVICE_URL: api.besideUrl.origin };
  const other = { ...worker, vars: { ...worker.vars, ...secrets } };
  const connector = await restartable({ ...common, persistTo: adapter.persistTo, beside: other });
  const startConnector = async () => {
    await connector.start();
    await fetch(connector.besideUrl);
  };
  onTestFinished(async () => void (await Promise.all([api.kill(), connector.kill()])));
  return { api, connector: { ...connector, start: startConnector }, persistTo: service.persistTo };
}

test(`each of ${RECORDS} records is in ConnectWise once, after the service and the adapter were killed in turn`, async () => {
  const startedAt = Date.now();
  const fake = fakeConnectWise(fastClock(startedAt));
  const { data, plain } = fake;
  // A response is late by up to 50 ms.
  const { env } = await serveFake(fake, () => sleep(50 * Math.random()));
  const { api, connector, persistTo } = await makeProcesses(env, startedAt);
  await Promise.all([api.start(), connector.start()]);
  // The connection test follows the directory.
  await vi.waitUntil(() => data.removed.length === 1, { timeout: 60_000 });
  await api.kill();
  const administrator = await withLocalD1(persistTo, (db) =>
    db
      .prepare('select id from users where is_admin = 1 and organization_id = ?')
      .bind(ORGANIZATION)
      .first<string>('id'),
  );
  const key = { persistTo, organization: ORGANIZATION, administrator: administrator ?? '' };
  const { addNote, logTime } = await makeAutomation(api.url, key);
  await api.start();
  for (let index = 0; index < RECORDS; index++) {
    const ticket = `${501 + (index % 10)}`;
    if (index % 2 === 0) await addNote(ticket, `Record ${index}`);
    else await logTime(ticket, index, undefined, `Record ${index}`);
  }
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(300 + 700 * Math.random());
    const killed = kill % 2 === 0 ? connector : api;
    await killed.kill();
    await killed.start();
  }
  const found = () => [...data.notes, ...data.entries].map(({ text }) => plain(text)).sort();
  const expected = Array.from({ length: RECORDS }, (_, index) => `Record ${index}`).sort();
  await vi.waitUntil(() => found().length >= RECORDS, { timeout: 300_000, interval: 200 });
  // A second copy would follow within the time in which the adapter looks again.
  await sleep(5_000);
  expect([found(), data.notes.filter(({ isPrivate }) => !isPrivate), data.violations]).toEqual([expected, [], []]);
}, 600_000);
