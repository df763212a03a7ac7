import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { expect, onTestFinished, test, vi } from 'vitest';
import { adapterConfig, definitionOf } from '../../src/ops/adapters.ts';
import { readDeployment } from '../../src/ops/deploy/deployment-file.ts';
import { withLocalD1 } from '../../src/ops/local.ts';
import { decideTime } from '../../src/services/work/time-queue.ts';
import type { Fake } from '../adapters/fake.ts';
import { fakeConnectWise } from '../adapters/fake-connectwise.ts';
import { fakeHalo } from '../adapters/fake-halo.ts';
import { fakeRedmine } from '../adapters/fake-redmine.ts';
import { makeAutomation } from '../adapters/redmine/automation.ts';
import { type Around, serveFake } from '../adapters/serve-fake.ts';
import { administratorContext } from '../support/administrator-context.ts';
import { writeDeployments } from '../support/deployments.ts';
import { copyDatabase, productionBundle } from '../support/shared.ts';
import { fastClock } from './fast-clock.ts';
import { restartable, UNLIMITED_VARS } from './restartable.ts';

const FAKES = { connectwise: fakeConnectWise, halo: fakeHalo, redmine: fakeRedmine };
type Psa = keyof typeof FAKES;

const [RECORDS, APPROVAL_KILLS] = [48, 6];
const ORGANIZATION = 'contoso';
const VARS = { ORGANIZATION_NAME: 'Contoso', TIME_ZONE: 'UTC', DEFAULT_HOURLY_RATE: '120', TEST_TICKET: '501' };

/** The service and the adapter, each in a process of its own, with the settings that a deployment renders. */
async function makeProcesses(psa: Psa, env: Record<string, string>, startedAt: number) {
  const { secrets: shape } = await definitionOf({ psa });
  const [own, secrets] = [true, false].map((isVariable) =>
    Object.fromEntries(Object.entries(env).filter(([name]) => name in shape.shape !== isVariable)),
  );
  const [service, adapter] = await Promise.all([copyDatabase(), copyDatabase()]);
  onTestFinished(async () => void (await Promise.all([service.remove(), adapter.remove()])));
  const settings = {
    ...{ psa, organization: ORGANIZATION, administrators: ['ada@northwind.example'] },
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
  const other = { ...worker, vars: { ...worker.vars, ...secrets, SERVICE_URL: api.besideUrl.origin } };
  const connector = await restartable({ ...common, persistTo: adapter.persistTo, beside: other });
  const startConnector = async () => {
    await connector.start();
    await fetch(connector.besideUrl);
  };
  onTestFinished(async () => void (await Promise.all([api.kill(), connector.kill()])));
  return { api, connector: { ...connector, start: startConnector }, persistTo: service.persistTo };
}

type Processes = Awaited<ReturnType<typeof makeProcesses>>;

/** Kills and starts processes, one call after the other. */
function makeRestart() {
  let last: Promise<void> = Promise.resolve();
  return (...which: Pick<Processes['api'], 'kill' | 'start'>[]): Promise<void> => {
    last = last.then(async () => {
      await Promise.all(which.map((one) => one.kill()));
      for (const one of which) await one.start();
    });
    return last;
  };
}

type Moment = (run: () => Promise<Response>) => Promise<Response | undefined>;

/** What happens when the PSA is asked to create a record. */
const momentsOf = ({ api, connector }: Processes, restart: ReturnType<typeof makeRestart>): Record<string, Moment> => ({
  'the adapter is killed before the effect': async (run) => {
    const restarted = restart(connector);
    await sleep(60);
    await run();
    return restarted.then(() => undefined);
  },
  'the adapter is killed between effect and response': async (run) => {
    await run();
    return restart(connector).then(() => undefined);
  },
  'the adapter is killed after the response': async (run) => {
    const response = await run();
    void sleep(3 + 40 * Math.random()).then(() => restart(connector));
    return response;
  },
  'the adapter is killed, and there is no effect': () => restart(connector).then(() => undefined),
  'an error follows the effect': async (run) => {
    await run();
    return new Response(null, { status: 503 });
  },
  'no response follows the effect': async (run) => {
    await run();
    await sleep(4_000);
    return undefined;
  },
  'the service is killed': (run) => {
    void restart(api);
    return run();
  },
  'both are killed after the effect': async (run) => {
    await run();
    return restart(api, connector).then(() => undefined);
  },
  // The last one: few other records wait, so an adapter that did not let it settle would send it again before its effect.
  'the connection is cut, and the effect comes long after that': async (run) => {
    void sleep(2_400).then(run);
    return undefined;
  },
});

/** Between PSA and adapter: one of the moments at each second create, until none is left. */
function makeInterruptions() {
  const left: Moment[] = [];
  let creates = 0;
  const around: Around = async (run, { method, body }) => {
    await sleep(30 * Math.random());
    if (method === 'GET' || !body.includes('Record ') || creates++ % 2 === 0) return run();
    return (left.shift() ?? ((again) => again()))(run);
  };
  return { left, around };
}

/**
 * Writes the records as an automation of the organization, which the adapter has created. Time is approved in the settings
 * area if the PSA does not decide about it.
 */
async function writeRecords({ api, persistTo }: Processes, { psa }: Fake) {
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
  const logged: Awaited<ReturnType<typeof logTime>>[] = [];
  for (let index = 0; index < RECORDS; index++) {
    const [ticket, text] = [`${501 + (index % 10)}`, `Record ${index}`];
    if (index % 2 === 0) await addNote(ticket, text);
    else logged.push(await logTime(ticket, index, undefined, text));
  }
  if (!psa.reviews) {
    await api.kill();
    const ids = logged.map(({ id }) => id);
    await withLocalD1(persistTo, (db) =>
      decideTime(administratorContext(db, ORGANIZATION, key.administrator), ids, 'APPROVED'),
    );
    await api.start();
  }
  /** The status of each time entry. */
  return () => Promise.all(logged.map(({ repeat }) => repeat()));
}

/** Approves all time in the PSA. */
function approveAll({ data }: Fake): void {
  const decision = { status: 'APPROVED', reviewer: '1' };
  for (const entry of data.entries) Object.assign(entry, { decision, updatedAt: data.now() });
}

const countApprovals = (persistTo: string) =>
  withLocalD1(persistTo, (db) =>
    db
      .prepare("select count(*) as n from audit_log where organization_id = ? and action = 'time_entry.approved'")
      .bind(ORGANIZATION)
      .first<number>('n'),
  );

test.each(Object.keys(FAKES) as Psa[])(
  'records are in %s once, and its approvals here, whatever is killed when it creates them',
  async (psa) => {
    const startedAt = Date.now();
    const fake = FAKES[psa](fastClock(startedAt));
    const { data, plain } = fake;
    const { left, around } = makeInterruptions();
    const { env } = await serveFake(fake, around);
    const processes = await makeProcesses(psa, env, startedAt);
    const { api, connector, persistTo } = processes;
    await Promise.all([api.start(), connector.start()]);
    // The connection test follows the directory.
    await vi.waitUntil(() => data.removed.length === 1, { timeout: 120_000 });
    await connector.kill();
    const readStatuses = await writeRecords(processes, fake);

    const restart = makeRestart();
    const moments = Object.values(momentsOf(processes, restart));
    left.push(...moments.flatMap((moment) => [moment, moment]));
    await connector.start();
    const found = () => [...data.notes, ...data.entries].map(({ text }) => plain(text)).sort();
    const expected = Array.from({ length: RECORDS }, (_, index) => `Record ${index}`).sort();
    const isOver = () => left.length === 0 && new Set(found()).size >= RECORDS;
    await vi.waitUntil(isOver, { timeout: 600_000, interval: 200 });
    await restart();
    // A second copy would follow within the time in which the adapter looks again.
    await sleep(8_000);
    expect([found(), data.notes.filter(({ isPrivate }) => !isPrivate), data.violations]).toEqual([expected, [], []]);
    for (const { text, minutes } of data.entries) expect(plain(text)).toBe(`Record ${minutes}`);

    approveAll(fake);
    for (let kill = 0; kill < APPROVAL_KILLS; kill++) {
      await sleep(300 + 900 * Math.random());
      await restart(kill % 3 === 2 ? api : connector);
    }
    const isApproved = async () => (await readStatuses()).every((status) => status === 'APPROVED');
    await vi.waitUntil(isApproved, { timeout: 180_000, interval: 1_000 });
    await api.kill();
    expect(await countApprovals(persistTo)).toBe(data.entries.length);
  },
  1_200_000,
);
