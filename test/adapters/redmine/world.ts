import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { ApprovalDecision } from '../../../src/domain/record-kinds.ts';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { decideTime } from '../../../src/services/work/time-queue.ts';
import { restartable, UNLIMITED_VARS } from '../../reliability/restartable.ts';
import { administratorContext } from '../../support/administrator-context.ts';
import { localDatabase } from '../../support/local-database.ts';
import { bundleProduction } from '../../support/production-worker.ts';
import { makeAutomation } from './automation.ts';
import { makeRedmine } from './instance.ts';
import { peopleOf } from './people.ts';
import { waitFor } from './wait-for.ts';

const ORGANIZATION = 'northwind';

/** Prints a line when a check has passed. */
export type Check = (title: string, run: () => Promise<void>) => Promise<void>;
export type World = Awaited<ReturnType<typeof makeWorld>>;

/** Variables, of which a test can remove some. */
const asVariables = (variables: Record<string, string>) => variables;

/** A real Redmine as the PSA of a local service, with the adapter between them, in one workerd. */
export async function makeWorld() {
  const directory = await mkdtemp(join(tmpdir(), 'twb-redmine-'));
  const state = join(directory, 'redmine');
  await mkdir(state);
  const bundle = join(directory, 'bundle');
  const [redmine, database] = await Promise.all([makeRedmine(state), localDatabase(), bundleProduction(bundle)]);
  const { seed } = redmine;
  const script = join(directory, 'adapter.js');
  await build({
    ...{ entryPoints: [join(import.meta.dirname, 'entry.ts')], outfile: script, bundle: true },
    ...{ format: 'esm', external: ['cloudflare:*'], logLevel: 'error' },
  });
  const adapter = {
    script,
    props: { organization: ORGANIZATION, administrators: ['ada@northwind.example'] },
    vars: asVariables({
      ...{ ORGANIZATION, ORGANIZATION_NAME: 'Northwind IT', DEFAULT_HOURLY_RATE: '120', TEST_TICKET: '1', RESUME: '' },
      ...{ ADAPTER: 'redmine', JURISDICTION: '' },
      STARTED_AT: String(Date.now()),
      // For 14 hours of a day, its date is not that of UTC.
      TIME_ZONE: 'Pacific/Kiritimati',
      ...{ REDMINE_URL: redmine.url, REDMINE_KEY: seed.keys.service, REDMINE_ADMIN_KEY: seed.keys.admin },
      REDMINE_ACTIVITY: String(seed.ids['activity']),
      REDMINE_BILLABLE_FIELD: String(seed.ids['billable']),
      REDMINE_REVIEW_FIELD: String(seed.ids['review']),
      REDMINE_REVIEWER_FIELD: String(seed.ids['reviewer']),
    }),
  };
  const service = await restartable({ bundle, persistTo: database.persistTo, vars: UNLIMITED_VARS, beside: adapter });
  const start = async () => {
    await service.start();
    await fetch(service.besideUrl, { headers: { Connection: 'close' } });
  };
  const restart = () => service.kill().then(start);
  /** Reads the database when the adapter has had some time, while nothing else has it open. */
  const read = async <Row>(sql: string) => {
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    await service.stop();
    const { results } = await withLocalD1(database.persistTo, (db) => db.prepare(sql).all<Row>());
    await start();
    return results;
  };
  /** A new order: what was refused is written again, and the whole directory is read. */
  const resume = async (order: string) => {
    adapter.vars['RESUME'] = order;
    await service.stop();
    await start();
  };
  await redmine.start();
  await start();
  await waitFor('the directory', async () => {
    const [row] = await read<{ n: number }>('select count(*) as n from tickets');
    return row && row.n >= 123 ? true : undefined;
  });
  const key = { persistTo: database.persistTo, organization: ORGANIZATION, administrator: seed.users.admin };
  await service.stop();
  const automation = await makeAutomation(service.url, key);
  await start();

  return {
    seed,
    people: peopleOf(redmine),
    automation,
    read,
    /** Kills both Workers, or Redmine. */
    restart,
    restartRedmine: () => redmine.kill().then(redmine.start),
    resume,
    /** Has the adapter say that Redmine has no approval of time, and waits until the directory does. */
    leaveTimeToSettings: async () => {
      delete adapter.vars['REDMINE_REVIEW_FIELD'];
      await resume('no review');
      await waitFor('the settings area', async () => {
        const [row] = await read<{ approvals: string }>('select approvals from organizations');
        return row?.approvals === 'settings' ? true : undefined;
      });
    },
    /** Decides about time in the settings area. */
    decide: async (decision: ApprovalDecision, id: string) => {
      await service.stop();
      const { done } = await withLocalD1(database.persistTo, (db) =>
        decideTime(administratorContext(db, ORGANIZATION, seed.users.admin), [id], decision, 'No'),
      );
      assert.deepEqual(done, [id]);
      await start();
    },
    close: async () => {
      await service.stop();
      await redmine.kill();
      await database.remove();
      await rm(directory, { recursive: true });
    },
  };
}
