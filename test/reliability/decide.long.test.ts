import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { importDirectory } from '../../src/ops/import/import-directory.ts';
import { withLocalD1 } from '../../src/ops/local.ts';
import type { decideTime } from '../../src/services/work/time-queue.ts';
import { inconsistencies } from '../support/ledger.ts';
import { copyDatabase, productionBundle } from '../support/shared.ts';
import type { Operation } from './operations-worker.ts';
import { operationsWorker } from './operator.ts';
import { makeKey, restartable, UNLIMITED_VARS, writeTo } from './restartable.ts';

const [ROUNDS, ENTRIES] = [12, 60];
const ORGANIZATION = 'northwind';
const LONGEST_CALM_MS = 200;
const RETRY_MS = 20;
/** What each of two administrators decides about everything. */
const DECISIONS = [
  { administrator: 'ada', decision: 'APPROVED' },
  { administrator: 'bea', decision: 'REJECTED' },
] as const;
const BEA = {
  type: 'user',
  organization: ORGANIZATION,
  id: 'bea',
  email: 'bea@northwind.example',
  name: 'Bea',
  admin: true,
};

/** Two Workers on one database, each in processes of its own, and a function that logs time. */
async function makeWorkers() {
  const { persistTo, remove } = await copyDatabase('demo');
  onTestFinished(remove);
  const { value: key } = await withLocalD1(persistTo, async (db) => {
    expect(await importDirectory(db, JSON.stringify(BEA))).toMatchObject({ ok: true });
    return makeKey(db, ORGANIZATION, 'Automation');
  });
  const beside = { script: await operationsWorker(persistTo) };
  const common = { bundle: await productionBundle(), vars: UNLIMITED_VARS, persistTo, objectsInMemory: true, beside };
  const workers = [await restartable(common), await restartable(common)] as const;
  onTestFinished(async () => void (await Promise.all(workers.map((one) => one.kill()))));
  await Promise.all(workers.map((one) => one.start()));
  let events = 0;
  const log = async () => {
    const event = `event-${++events}`;
    const body = { minutes: 30, description: event, billable: true };
    const response = await writeTo(workers[0], key, 'time-entries', body, event);
    const { entry } = await response.json<{ entry: { id: string } }>();
    return entry.id;
  };
  return { workers, log, persistTo };
}

/** Decides about random entries until each is decided. Returns those that this administrator has decided. */
async function decideAll(url: URL, decision: (typeof DECISIONS)[number], ids: readonly string[]) {
  const acknowledged: string[] = [];
  for (let open = [...ids]; open.length > 0; ) {
    const some = open.filter(() => Math.random() < 0.2);
    const operation: Operation = { organization: ORGANIZATION, do: 'decide', ids: some, ...decision };
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(operation) }).catch(() => undefined);
    const text = response?.ok ? await response.text().catch(() => undefined) : undefined;
    if (text === undefined) {
      await sleep(RETRY_MS);
      continue;
    }
    const { done, others }: Awaited<ReturnType<typeof decideTime>> = JSON.parse(text);
    // What it decided before, if the Worker was killed before its response: others are decided with it now.
    const own = others.filter(({ decidedById }) => decidedById === decision.administrator);
    acknowledged.push(...done, ...own.map(({ id }) => id));
    const decided = new Set([...done, ...others.flatMap(({ id, status }) => (status === 'SUBMITTED' ? [] : id))]);
    open = open.filter((id) => !decided.has(id));
  }
  return acknowledged;
}

test('two Workers that decide opposite, and are killed, decide each entry once, as they said', async () => {
  const { workers, log, persistTo } = await makeWorkers();
  const said = new Map<string, string>();
  let [calm, ofFirst] = [0, 0];
  for (let round = 0; round < ROUNDS; round++) {
    const ids: string[] = [];
    for (let entry = 0; entry < ENTRIES; entry++) ids.push(await log());
    const deciding = DECISIONS.map((decision, index) =>
      decideAll(workers[index]?.besideUrl ?? new URL(''), decision, ids),
    );
    const all = Promise.all(deciding);
    await sleep(Math.random() * LONGEST_CALM_MS);
    const killed = workers[round % 2];
    await killed?.kill();
    await killed?.start();
    for (const [index, acknowledged] of (await all).entries())
      for (const id of acknowledged) {
        const { administrator, decision } = DECISIONS[index] ?? DECISIONS[0];
        // Neither Worker acknowledges what the other one has decided.
        expect([id, said.get(id)]).toEqual([id, undefined]);
        said.set(id, `${decision} ${administrator}`);
      }
    const byAda = ids.filter((id) => said.get(id)?.endsWith('ada')).length;
    ofFirst += byAda;
    if (byAda === 0 || byAda === ENTRIES) calm += 1;
  }
  await Promise.all(workers.map((one) => one.stop()));
  console.log(`decisions: ${ofFirst} of ${ROUNDS * ENTRIES} by the first Worker, ${calm} rounds by one alone`);
  await withLocalD1(persistTo, async (db) => {
    const stored = await db
      .prepare('select id, status from time_entries where organization_id = ?')
      .bind(ORGANIZATION)
      .all<{ id: string; status: string }>();
    const statuses = stored.results.map(({ id, status }) => [id, status] as const);
    expect(new Map(statuses)).toEqual(new Map([...said].map(([id, text]) => [id, text.split(' ')[0]])));
    const audited = await db
      .prepare(
        "select target_id, action, actor_id from audit_log where organization_id = ? and action in ('time_entry.approved', 'time_entry.rejected')",
      )
      .bind(ORGANIZATION)
      .all<{ target_id: string; action: string; actor_id: string }>();
    const rows = audited.results.map(
      ({ target_id: id, action, actor_id: by }) =>
        [id, `${action.slice('time_entry.'.length).toUpperCase()} ${by}`] as const,
    );
    expect([rows.length, new Map(rows)]).toEqual([said.size, said]);
    expect(await inconsistencies(db, ORGANIZATION)).toEqual([]);
  });
}, 600_000);
