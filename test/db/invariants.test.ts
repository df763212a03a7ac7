import { env } from 'cloudflare:workers';
import { beforeAll, describe, expect, test } from 'vitest';
import { ERASED_TABLES, tableName } from '../../src/db/directory/erasure.ts';
import { eraseOrganization } from '../support/erase-organization.ts';
import { lastCursor } from '../support/psa-calls.ts';
import { asOperator, makeKey, makeWorld, revoke, rotate } from '../support/world.ts';

// These tests write to the database directly. It refuses invalid data whatever our code does.

let organization: string;
let keyId: string;

beforeAll(async () => {
  const { key, api, ...made } = await makeWorld();
  ({ organization, keyId } = made);
  expect((await api.postNote(key)).status).toBe(201);
  expect((await api.postTime(key)).status).toBe(201);
});

/** Statements with `$org` for an organization. */
function statementsOf(own: () => string) {
  const prepare = (sql: string) => env.DB.prepare(sql.replaceAll('$org', `'${own()}'`));
  const run = (sql: string) => prepare(sql).run();
  return { prepare, run, refuses: (sql: string, because: RegExp) => expect(run(sql)).rejects.toThrow(because) };
}
const { run, refuses } = statementsOf(() => organization);

const INSERT_ERASURE = 'insert into erasures (organization_id, request_id, erased_at, erased_by, last_seq, open)';

describe('the audit log', () => {
  const columns = 'organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id';
  const row = (seq: number) => `values ($org, ${seq}, 0, 'user', 'ada', 'Ada', 'api_key.created', 'x', 'r')`;

  test('refuses updates, deletes and replacements', async () => {
    const before = (await run('select * from audit_log where organization_id = $org')).results;
    await refuses("update audit_log set actor_name = 'x' where organization_id = $org and seq = 1", /append-only/);
    await refuses('delete from audit_log where organization_id = $org and seq = 3', /append-only/);
    await refuses(`insert or replace into audit_log (${columns}) ${row(1)}`, /seq must be the next/);
    await refuses(`insert or replace into audit_log (${columns}) ${row(3)}`, /seq must be the next/);
    await refuses(
      `insert into audit_log (${columns}) ${row(1)} on conflict do update set actor_name = 'x'`,
      /seq must be the next/,
    );
    expect((await run('select * from audit_log where organization_id = $org')).results).toEqual(before);
  });

  test('refuses a number other than the next', async () => {
    await refuses(`insert into audit_log (${columns}) ${row(5)}`, /seq must be the next/);
    await refuses(`insert into audit_log (${columns}) ${row(0)}`, /seq must be the next/);
  });

  test('refuses an unknown type of actor', async () => {
    await refuses(
      `insert into audit_log (${columns}) values ($org, 4, 0, 'nobody', 'x', 'x', 'a.b', 'x', 'r')`,
      /audit_log_actor_type/,
    );
  });
});

describe('the audit log', () => {
  /** Everything of an organization except its audit log, referring tables first. */
  const OTHER_TABLES = [
    ...['notes', 'time_entries', 'refused_uses', 'refused_requests', 'api_keys'],
    ...['agreements', 'tickets', 'companies', 'users'],
  ];
  const deleteAuditLog = 'delete from audit_log where organization_id = $org';
  const openErasure = (lastSeq: string) =>
    `${INSERT_ERASURE} values ($org, 'erasure', unixepoch() * 1000, 'Eve', ${lastSeq}, 1)`;
  const TRUE_LAST_SEQ = '(select max(seq) from audit_log where organization_id = $org)';

  async function withOneNote() {
    const { organization: own, key, api } = await makeWorld();
    expect((await api.postNote(key)).status).toBe(201);
    const { prepare, refuses, run } = statementsOf(() => own);
    return {
      ...{ run, refuses },
      /** Runs statements as one transaction in which rows may refer to rows that are gone. */
      transaction: (...statements: string[]) =>
        env.DB.batch(['pragma defer_foreign_keys = on', ...statements].map(prepare)),
      expectUntouched: async () => {
        const log = await prepare('select seq, action from audit_log where organization_id = $org order by seq').all();
        expect(log.results).toEqual([
          { seq: 1, action: 'api_key.created' },
          { seq: 2, action: 'note.created' },
        ]);
      },
    };
  }

  test('an erasure with a wrong last seq does not open the audit log', async () => {
    const { refuses, expectUntouched } = await withOneNote();
    for (const lastSeq of ['0', `${TRUE_LAST_SEQ} - 1`, `${TRUE_LAST_SEQ} + 1`])
      await refuses(openErasure(lastSeq), /erasures are kept/);
    await refuses(deleteAuditLog, /append-only/);
    await expectUntouched();
  });

  test('an erasure that is dated more than a minute away does not open the audit log', async () => {
    const { refuses, expectUntouched } = await withOneNote();
    for (const at of ['1', 'unixepoch() * 1000 - 61000', 'unixepoch() * 1000 + 62000'])
      await refuses(openErasure(TRUE_LAST_SEQ).replace('unixepoch() * 1000', at), /erasures are kept/);
    await expectUntouched();
  });

  test('an erasure does not begin with a return', async () => {
    const { refuses, expectUntouched } = await withOneNote();
    const open = openErasure(TRUE_LAST_SEQ).replace(', open)', ', open, recreated_by)');
    await refuses(open.replace(/, 1\)$/, ", 1, 'Eve')"), /erasures are kept/);
    await expectUntouched();
  });

  test('an erasure that deletes nothing else does not open the audit log', async () => {
    const { run, refuses, expectUntouched } = await withOneNote();
    await run(openErasure(TRUE_LAST_SEQ));
    await refuses(deleteAuditLog, /append-only/);
    await expectUntouched();
  });

  test('the audit log cannot be deleted without an erasure, even if nothing else is left', async () => {
    const { transaction, expectUntouched } = await withOneNote();
    const deletions = OTHER_TABLES.map((table) => `delete from ${table} where organization_id = $org`);
    await expect(transaction(...deletions, deleteAuditLog)).rejects.toThrow('notes are kept');
    const [, ...others] = deletions;
    await expect(transaction(...others, deleteAuditLog)).rejects.toThrow('a key is not deleted');
    const rest = others.filter((deletion) => !deletion.includes('api_keys'));
    await expect(transaction(...rest, deleteAuditLog)).rejects.toThrow('append-only');
    await expectUntouched();
  });

  test.each(['users', 'api_keys', 'tickets'])(
    'an erasure that leaves the %s does not open the audit log',
    async (kept) => {
      const { transaction, expectUntouched } = await withOneNote();
      const others = OTHER_TABLES.filter((table) => table !== kept);
      const deletions = others.map((table) => `delete from ${table} where organization_id = $org`);
      await expect(transaction(openErasure(TRUE_LAST_SEQ), ...deletions, deleteAuditLog)).rejects.toThrow(
        'append-only',
      );
      await expectUntouched();
    },
  );
});

describe('an organization whose erasure is open', () => {
  /** An organization of which an erasure has removed everything except for itself. */
  async function emptied() {
    const { organization: own } = await makeWorld();
    const { prepare, run, refuses } = statementsOf(() => own);
    const tables = ERASED_TABLES.map(tableName).filter((table) => table !== 'audit_log');
    await env.DB.batch([
      prepare(
        `${INSERT_ERASURE} select $org, 'erasure', unixepoch() * 1000, 'Eve', max(seq), 1 from audit_log where organization_id = $org`,
      ),
      ...tables.map((table) => prepare(`delete from ${table} where organization_id = $org`)),
    ]);
    return { run, refuses };
  }
  const forged = (seq: string) =>
    `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id)
     values ($org, ${seq}, 0, 'user', 'eve', 'Eve', 'note.created', 'x', 'r')`;

  test('an organization gets no audit rows during its erasure, neither after the old rows nor in their place', async () => {
    const { run, refuses } = await emptied();
    await refuses(forged('2'), /being erased/);
    await run('delete from audit_log where organization_id = $org');
    await refuses(forged('1'), /being erased/);
    await refuses('update erasures set open = 0 where organization_id = $org', /erasures are kept/);
    expect((await run('select * from audit_log where organization_id = $org')).results).toEqual([]);
  });

  test('an organization gets no directory during its erasure', async () => {
    const { refuses } = await emptied();
    const clock =
      'insert into directory_clock values ($org, 9000000000000, \'["m"]\') on conflict do update set at = excluded.at';
    await refuses(clock, /being erased/);
  });
});

describe('the record of an erasure', () => {
  async function erased() {
    const { organization: own } = await makeWorld();
    await eraseOrganization(asOperator(), { organization: own, cursor: await lastCursor(own), by: 'Ada' });
    return statementsOf(() => own);
  }

  test.each([
    'delete from erasures where organization_id = $org',
    'update erasures set open = 1 where organization_id = $org',
    "update erasures set erased_by = 'nobody' where organization_id = $org",
    `${INSERT_ERASURE.replace('insert', 'insert or replace')} select organization_id, request_id, erased_at, erased_by, last_seq, 1 from erasures where organization_id = $org`,
    'update erasures set recreated_at = unixepoch() * 1000 where organization_id = $org',
    "update erasures set recreated_at = unixepoch() * 1000 - 61000, recreated_by = 'Eve' where organization_id = $org",
    "update erasures set recreated_at = unixepoch() * 1000, recreated_by = 'Eve', erased_by = 'Eve' where organization_id = $org",
  ])('the record of an erasure is kept: %s', async (sql) => {
    const { refuses } = await erased();
    await refuses(sql, /erasures are kept/);
  });

  test("an erasure records its organization's return once", async () => {
    const { run, refuses } = await erased();
    const set = (by: string) =>
      `update erasures set recreated_at = unixepoch() * 1000, recreated_by = '${by}' where organization_id = $org`;
    expect((await run(set('psa'))).meta.changes).toBe(1);
    await refuses(set('Eve'), /erasures are kept/);
  });
});

describe('the directory', () => {
  test('refuses a second service account, and one that is inactive, a technician or an administrator', async () => {
    const user = (flags: string) =>
      `insert into users values ($org, 'second', 'second@northwind.example', 'Second', ${flags})`;
    await refuses(user('0, 0, 1, 1'), /UNIQUE constraint failed/);
    for (const change of ['active = 0', 'is_technician = 1', 'is_admin = 1'])
      await refuses(
        `update users set ${change} where organization_id = $org and id = 'automation'`,
        /users_service_account/,
      );
  });

  test('refuses a duplicate email address, and an address with capitals', async () => {
    const set = (email: string) => `update users set email = '${email}' where organization_id = $org and id = 'ada'`;
    await refuses(set('tess@northwind.example'), /UNIQUE constraint failed/);
    await refuses(set('Ada@northwind.example'), /users_email_lower_case/);
  });

  test('refuses a second active agreement for a company, and a negative rate', async () => {
    await refuses("insert into agreements values ($org, 'second', 'acme', 100, 1)", /UNIQUE constraint failed/);
    await refuses("insert into agreements values ($org, 'third', 'globex', -1, 1)", /agreements_rate/);
    expect((await run("insert into agreements values ($org, 'fourth', 'acme', 100, 0)")).meta.changes).toBe(1);
  });

  test('refuses a ticket for an unknown company, and ids that do not fit into a URL', async () => {
    await refuses("insert into tickets values ($org, '5000', 'elsewhere', 1)", /FOREIGN KEY/);
    for (const id of ['', '.', '..', 'a/b', 'a b', 'ä', 'x'.repeat(65)])
      await refuses(`insert into tickets values ($org, '${id}', 'acme', 1)`, /tickets_id/);
  });
});

describe('the table of keys', () => {
  const COLUMNS = 'organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by, form_token';

  test('refuses a duplicate value, malformed scopes, and a daily limit of 0', async () => {
    await refuses(
      `insert into api_keys (${COLUMNS}) select organization_id, 'copy', 'copy', 'Copy', hash, hint, scopes, created_at, created_by, null from api_keys where id = '${keyId}'`,
      /UNIQUE constraint failed: api_keys.hash/,
    );
    for (const scopes of ['', ' ', 'Tickets:note:write', 'tickets:note:write ', ' a', 'a  b', 'a,b']) {
      await refuses(`update api_keys set scopes = '${scopes}' where id = '${keyId}'`, /api_keys_scopes/);
    }
    for (const limit of ['day_limit_records', 'day_limit_minutes'])
      await refuses(`update api_keys set ${limit} = 0 where id = '${keyId}'`, /api_keys_day_limits/);
  });

  test('refuses two live keys with one name, two keys from one form, and a second successor', async () => {
    const columns = 'hint, scopes, created_at, created_by';
    const copy = (id: string, rest: string) =>
      `insert into api_keys (${COLUMNS}) select organization_id, '${id}', '${id}', ${rest} from api_keys where id = '${keyId}'`;
    const hash = (digit: string) => `'${digit.repeat(64)}'`;
    await refuses(
      copy('same-name', `name, ${hash('a')}, ${columns}, null`),
      /UNIQUE constraint failed: api_keys.organization_id, api_keys.name/,
    );
    await run(copy('of-a-form', `'Other', ${hash('b')}, ${columns}, 'token'`));
    await refuses(
      copy('same-form', `'Third', ${hash('c')}, ${columns}, 'token'`),
      /UNIQUE constraint failed: .*form_token/,
    );
    await run(`update api_keys set successor_id = 'next' where id = 'of-a-form'`);
    await refuses(`update api_keys set successor_id = 'another' where id = 'of-a-form'`, /a key has one successor/);
    await refuses(`update api_keys set successor_id = null where id = 'of-a-form'`, /a key has one successor/);
  });

  test('refuses to move a key to another rotation chain', async () => {
    await refuses(`update api_keys set chain_id = 'another' where id = '${keyId}'`, /stays in its chain/);
    expect((await run(`update api_keys set chain_id = id where id = '${keyId}'`)).meta.changes).toBe(1);
  });

  test('refuses to undo a revocation', async () => {
    const { id } = await makeKey(organization);
    await revoke(organization, id);
    await refuses(`update api_keys set revoked_at = null, revoked_by = null where id = '${id}'`, /cannot be undone/);
    await refuses(`update api_keys set revoked_at = revoked_at + 1 where id = '${id}'`, /cannot be undone/);
  });

  test.each([
    ['id', { hash: 'lower(hex(randomblob(32)))' }],
    ['hash', { id: "'another'" }],
    ['form token', { id: "'another'", hash: 'lower(hex(randomblob(32)))' }],
  ])('refuses to undo a revocation by replacing the key with another of the same %s', async (_, changes) => {
    const { id } = await makeKey(organization);
    await run(`update api_keys set form_token = 'token-${id}' where id = '${id}'`);
    await revoke(organization, id);
    const columns = await run(`select name from pragma_table_info('api_keys')`);
    const names = columns.results.map(({ name }) => String(name));
    const values = { revoked_at: 'null', revoked_by: 'null', ...changes };
    const selected = names.map((name) => Object.entries(values).find(([changed]) => changed === name)?.[1] ?? name);
    await refuses(
      `insert or replace into api_keys (${names.join(', ')}) select ${selected.join(', ')} from api_keys where id = '${id}'`,
      /a key is not replaced/,
    );
    await refuses(`delete from api_keys where id = '${id}'`, /a key is not deleted/);
  });

  test("refuses to undo a revocation by a row that takes the key's place or hash", async () => {
    const revoked = await makeKey(organization);
    const live = await makeKey(organization);
    await run(`update api_keys set form_token = 'token-${revoked.id}' where id = '${revoked.id}'`);
    await rotate(organization, revoked.id, { grace: 'now' });
    const of = (column: string) => `(select ${column} from api_keys where id = '${revoked.id}')`;
    const before = (await run(`select * from api_keys where id = '${revoked.id}'`)).results;
    for (const column of ['id', 'hash', 'form_token', 'successor_id']) {
      await refuses(
        `update or replace api_keys set ${column} = ${of(column)} where id = '${live.id}'`,
        /a key is not replaced/,
      );
    }
    const random = 'lower(hex(randomblob(32)))';
    await refuses(`update api_keys set hash = ${random} where id = '${revoked.id}'`, /a key is not replaced/);
    await refuses(`update api_keys set id = 'another' where id = '${revoked.id}'`, /a key is not replaced/);
    await refuses(
      `insert or replace into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by, successor_id)
       select organization_id, 'another', 'another', 'Another', ${random}, hint, scopes, created_at, created_by, successor_id
       from api_keys where id = '${revoked.id}'`,
      /a key is not replaced/,
    );
    expect((await run(`select * from api_keys where id = '${revoked.id}'`)).results).toEqual(before);
  });
});

describe('the tables of records', () => {
  const copy = (table: 'notes' | 'time_entries', changes: Record<string, string>) => {
    const ofAll = 'organization_id, id, ticket_id, created_at, key_id, request_id, request_digest, audit_seq';
    const ofTime =
      'user_id, minutes, description, billable, work_date, hourly_rate_minor, agreement_source, approvals, status';
    const columns = `${ofAll}, ${table === 'notes' ? 'message' : ofTime}`.split(', ');
    const values = columns.map((column) => changes[column] ?? column).join(', ');
    return `insert into ${table} (${columns.join(', ')}) select ${values} from ${table} where organization_id = $org limit 1`;
  };

  const rowsOf = async (table: string) =>
    (await run(`select *, ${table === 'notes' ? 'rowid' : 0} from ${table} where organization_id = $org`)).results;

  test.each(['notes', 'time_entries'] as const)('%s ignore a duplicate id, even with a replacement', async (table) => {
    const before = await rowsOf(table);
    const text = { [table === 'notes' ? 'message' : 'description']: "'forged'" };
    for (const insert of [copy(table, {}), copy(table, text).replace('insert', 'insert or replace')])
      expect((await run(insert)).meta.changes).toBe(0);
    expect(await rowsOf(table)).toEqual(before);
  });

  test('a note is not replaced by another one with its rowid', async () => {
    const before = await rowsOf('notes');
    const columns =
      'organization_id, id, ticket_id, created_at, key_id, request_id, request_digest, audit_seq, message';
    const values = columns.replace(', id', ", 'new'");
    const sql = `insert or replace into notes (rowid, ${columns}) select rowid, ${values} from notes where organization_id = $org`;
    expect((await run(sql)).meta.changes).toBe(0);
    expect(await rowsOf('notes')).toEqual(before);
  });

  test.each([
    ["notes set message = 'forged'"],
    ["notes set message = '[redacted]'"],
    ["notes set request_digest = ''"],
    ["notes set message = '[redacted]', request_digest = '', ticket_id = '1002'"],
    ["notes set message = '[redacted]', request_digest = '', rowid = rowid + 1000000"],
    ["time_entries set description = 'forged'"],
    ["time_entries set description = '[redacted]', request_digest = '', minutes = 1"],
    ['time_entries set minutes = 1'],
    ["time_entries set approvals = 'psa'"],
    ["time_entries set status = 'APPROVED'"],
    ["time_entries set status = 'APPROVED', approval_seq = 3, hourly_rate_minor = 1"],
    ['time_entries set approval_seq = 3'],
  ])('refuse to be changed: %s', async (change) => {
    await refuses(`update ${change} where organization_id = $org`, /are kept as they are/);
  });

  test.each(['notes', 'time_entries'])('%s refuse to be deleted', async (table) => {
    await refuses(`delete from ${table} where organization_id = $org`, /are kept as they are/);
  });

  test.each([
    ['notes', { ticket_id: "'elsewhere'" }, /FOREIGN KEY/],
    ['notes', { message: "''" }, /notes_message/],
    ['notes', { message: 'char(9, 32, 160, 8195, 65279)' }, /notes_message/],
    ['notes', { message: "replace(hex(zeroblob(16001)), '00', 'xx')" }, /notes_message/],
    ['time_entries', { ticket_id: "'elsewhere'" }, /FOREIGN KEY/],
    ['time_entries', { user_id: "'elsewhere'" }, /FOREIGN KEY/],
    ['time_entries', { minutes: '0' }, /time_entries_minutes/],
    ['time_entries', { minutes: '1441' }, /time_entries_minutes/],
    ['time_entries', { minutes: "'thirty'" }, /cannot store TEXT value in INTEGER column/],
    ['time_entries', { status: "'PAID'" }, /time_entries_status/],
    ['time_entries', { approvals: "'us'" }, /time_entries_approvals/],
    ['time_entries', { agreement_source: "'request'" }, /time_entries_source/],
    ['time_entries', { work_date: "'2026-02-30'" }, /time_entries_work_date/],
    ['time_entries', { work_date: "'nonsense'" }, /time_entries_work_date/],
    ['time_entries', { hourly_rate_minor: '-1' }, /time_entries_rate/],
  ] as const)('refuse a row of %s with %j', async (table, changes, because) => {
    await refuses(copy(table, { id: "'new'", ...changes }), because);
  });

  test('an entry is handed to the settings area only while it waits for a PSA that no longer approves time', async () => {
    const set = (values: string) => `update time_entries set ${values} where organization_id = $org`;
    const organization = (approvals: string) =>
      run(`update organizations set approvals = '${approvals}' where id = $org`);
    await organization('psa');
    await run(copy('time_entries', { id: "'of-psa'", approvals: "'psa'" }));
    const ofPsa = (values: string) => `${set(values)} and id = 'of-psa'`;
    await refuses(ofPsa("approvals = 'settings'"), /are kept as they are/);
    await organization('settings');
    await refuses(ofPsa("approvals = 'settings', status = 'APPROVED', approval_seq = 3"), /are kept as they are/);
    await refuses(ofPsa("approvals = 'settings', minutes = 1"), /are kept as they are/);
    await run(ofPsa("approvals = 'settings'"));
    await refuses(ofPsa("approvals = 'psa'"), /are kept as they are/);
    await run(copy('time_entries', { id: "'decided'", approvals: "'psa'" }));
    await run(`${set("status = 'REJECTED', approval_seq = 3")} and id = 'decided'`);
    await refuses(`${set("approvals = 'settings'")} and id = 'decided'`, /are kept as they are/);
  });

  test('refuse to undo a review', async () => {
    const set = (values: string) => `update time_entries set ${values} where organization_id = $org`;
    await run(set("status = 'REJECTED', approval_seq = 3"));
    for (const values of ["status = 'SUBMITTED', approval_seq = null", "status = 'APPROVED'", 'approval_seq = 2'])
      await refuses(set(values), /are kept as they are/);
  });

  test('accept 32,000 characters, counted as code points', async () => {
    const astral = `replace(hex(zeroblob(16000)), '0', '𝕬')`;
    expect((await run(copy('notes', { id: "'long'", message: astral }))).meta.changes).toBe(1);
    expect(
      (await run("select length(message) as n from notes where organization_id = $org and id = 'long'")).results,
    ).toEqual([{ n: 32_000 }]);
  });
});

test('all tables are clustered except for notes, whose long rows would need overflow pages', async () => {
  const { results } = await env.DB.prepare(
    `select name from sqlite_schema where type = 'table' and sql not like '%WITHOUT ROWID%' and name not like 'sqlite%' and name not like '\\_cf%' escape '\\' and name <> 'd1_migrations'`,
  ).all();
  expect(results).toEqual([{ name: 'notes' }]);
});
