import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CrashRun, crash, summary } from '../support/crash.ts';

const KILLS = 3;

const IN_NORTHWIND = `organization_id = 'northwind'`;
/** The audit rows of some note and some time entry that had an Idempotency-Key, hence were acknowledged. */
const SOME_NOTE = `from audit_log where ${IN_NORTHWIND} and action = 'note.created' and idempotency_key is not null limit 1`;
const SOME_ENTRY = SOME_NOTE.replace('note.', 'time_entry.');
const NOTE = 'organization_id, ticket_id, message, created_at, key_id, request_id, request_digest, audit_seq';
const AUDIT_ROW =
  'organization_id, at, actor_type, actor_id, actor_name, action, target_id, ticket_id, request_id, idempotency_key';

/** Damage that crashes could have done, and what must be said of it. */
const DAMAGE: [string, string, RegExp[]][] = [
  [
    'a lost audit row',
    `delete from audit_log where ${IN_NORTHWIND} and seq = (select seq ${SOME_NOTE})`,
    [/no audit row/, /numbered from/],
  ],
  [
    'a lost record',
    `delete from time_entries where ${IN_NORTHWIND} and id = (select target_id ${SOME_ENTRY})`,
    [/no record of its own/, /acknowledged and is not there/],
  ],
  [
    'a record twice',
    `insert into notes (id, ${NOTE}) select 'copy', ${NOTE} from notes where ${IN_NORTHWIND} limit 1`,
    [/no audit row/, /was written 2 times/, /never be/],
  ],
  [
    'an audit row twice',
    `insert into audit_log (seq, ${AUDIT_ROW}) select (select 1 + max(seq) from audit_log where ${IN_NORTHWIND}), ${AUDIT_ROW} ${SOME_NOTE}`,
    [/no record of its own/, /made 2 records/],
  ],
  [
    'another text',
    `update notes set message = 'another' where ${IN_NORTHWIND} and id = (select target_id ${SOME_NOTE})`,
    [/acknowledged and is not there/, /never be/],
  ],
];

describe('a server that is killed at random moments while it is written to', () => {
  let run: CrashRun;
  beforeAll(async () => {
    run = await crash(KILLS);
  });
  afterAll(() => run.remove());

  test('loses, doubles and misnumbers nothing, and every client comes to its end', () => {
    expect(run.problems).toEqual([]);
    expect(run.cutOff).toBeGreaterThanOrEqual(KILLS);
    expect(run.acknowledged).toBeGreaterThan(0);
    console.log(summary(run));
  });

  test.each(DAMAGE)('is found out if there is %s', async (_, sql, found) => {
    await run.use(async (db, problems) => {
      const before = await problems();
      const { results } = await db
        .prepare("select name from sqlite_master where type = 'trigger'")
        .all<{ name: string }>();
      for (const { name } of results) await db.prepare(`drop trigger ${name}`).run();
      expect((await db.prepare(sql).run()).meta.changes).toBe(1);
      const news = (await problems()).filter((problem) => !before.includes(problem)).join('\n');
      for (const words of found) expect(news).toMatch(words);
    });
  });
});
