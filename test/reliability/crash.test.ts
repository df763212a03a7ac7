import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inLongRuns } from '../support/property.ts';
import { copyDatabase, productionBundle } from '../support/shared.ts';
import { type CrashRun, crash, DONE_MEANWHILE, summary } from './crash.ts';

const KILLS = inLongRuns(20, 3);
const RUN_TIMEOUT_MS = 60_000 + KILLS * 15_000;

const IN_NORTHWIND = `organization_id = 'northwind'`;
/**
 * The audit row of a note and of a time entry that had an Idempotency-Key, so that they were
 * acknowledged.
 */
const SOME_NOTE = `from audit_log where ${IN_NORTHWIND} and action = 'note.created' and idempotency_key is not null limit 1`;
const SOME_ENTRY = SOME_NOTE.replace('note.', 'time_entry.');
const NOTE = 'organization_id, ticket_id, message, created_at, key_id, request_id, request_digest, audit_seq';
const AUDIT_ROW =
  'organization_id, at, actor_type, actor_id, actor_name, action, target_id, ticket_id, request_id, idempotency_key';

/** Damage that a crash could do, and what the checks must say about it. */
const DAMAGE: [string, string, RegExp[]][] = [
  [
    'a lost audit row',
    `delete from audit_log where ${IN_NORTHWIND} and seq = (select seq ${SOME_NOTE})`,
    [/no audit row/, /numbered from/],
  ],
  [
    'a lost record',
    `delete from time_entries where ${IN_NORTHWIND} and id = (select target_id ${SOME_ENTRY})`,
    [/no record/, /acknowledged and is missing/],
  ],
  [
    'a duplicate record',
    `insert into notes (id, ${NOTE}) select 'copy', ${NOTE} from notes where ${IN_NORTHWIND} limit 1`,
    [/no audit row/, /was written 2 times/, /not acknowledged/],
  ],
  [
    'a duplicate audit row',
    `insert into audit_log (seq, ${AUDIT_ROW}) select (select 1 + max(seq) from audit_log where ${IN_NORTHWIND}), ${AUDIT_ROW} ${SOME_NOTE}`,
    [/no record/, /made 2 records/],
  ],
  [
    'a record with another text',
    `update notes set message = 'another' where ${IN_NORTHWIND} and id = (select target_id ${SOME_NOTE})`,
    [/acknowledged and is missing/, /not acknowledged/],
  ],
];

describe('a server that is killed at random moments while clients write', () => {
  let run: CrashRun;
  beforeAll(async () => {
    run = await crash(KILLS, { database: await copyDatabase('demo'), bundle: await productionBundle() });
  }, RUN_TIMEOUT_MS);
  afterAll(() => run.remove());

  test('the server loses, duplicates and misnumbers nothing, and every client finishes', () => {
    expect(run.problems).toEqual([]);
    expect(run.cutOff).toBeGreaterThanOrEqual(KILLS);
    expect(run.acknowledged).toBeGreaterThan(0);
    for (const operation of [...DONE_MEANWHILE, 'erase'])
      expect([operation, run.operations[operation]]).toEqual([operation, expect.any(Number)]);
    console.log(summary(run));
  });

  // If the checks found nothing in a damaged database, the test above would prove nothing.
  test('the check notices lost, duplicated and misnumbered records', async () => {
    await run.use(async (db, problems) => {
      const triggers = await db
        .prepare("select name from sqlite_master where type = 'trigger'")
        .all<{ name: string }>();
      for (const { name } of triggers.results) await db.prepare(`drop trigger ${name}`).run();
      for (const [damage, sql, found] of DAMAGE) {
        const before = await problems();
        expect((await db.prepare(sql).run()).meta.changes).toBe(1);
        const added = (await problems()).filter((problem) => !before.includes(problem)).join('\n');
        for (const words of found) expect(added, damage).toMatch(words);
      }
    });
  });
});
