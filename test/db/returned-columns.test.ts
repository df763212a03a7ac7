import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { ALL_ORGANIZATIONS, FACT_SOURCES } from '../../src/db/fact-statements.ts';
import { hashKey } from '../../src/domain/api-key.ts';
import { fromKeys } from '../../src/lib/objects.ts';
import { savePush } from '../../src/modules/push/push-statements.ts';
import { beginErasure } from '../../src/services/directory/erase-organization.ts';
import { changeKeyRules } from '../../src/services/keys/change-key-rules.ts';
import { recordRefusedUses } from '../../src/services/keys/refused-uses.ts';
import { redactRecord, reportRecord, setApproval } from '../../src/services/work/record-services.ts';
import { reportConnection } from '../../src/services/work/report-connection.ts';
import { emptyDatabase } from '../support/empty-database.ts';
import { importOrganizations, insertKeys } from '../support/many-keys.ts';
import { lastCursor } from '../support/psa-calls.ts';
import { asAdmin, asOperator, makeKey, makeWorld, NOTE, revoke, rotate, rowsOf, TIME } from '../support/world.ts';
import { everyStatement } from './every-statement.ts';

type Values = Record<string, string | number | null>;
type Row = Record<string, unknown>;

const isSelect = (text: string) => /^\s*(?:select|with)\b/.test(text);
const returnsRows = (text: string) => isSelect(text) || /\breturning\b/.test(text);

test('Every statement returns the columns of its declared row, with their types', async () => {
  await emptyDatabase();
  const { common, own } = await fillDatabase();
  const returned: Returned[] = [];
  const withoutRow: string[] = [];
  const statements = everyStatement.filter(({ statement: { text } }) => returnsRows(text));
  const selects = statements.filter(({ statement: { text } }) => isSelect(text));
  // The statements that change something run last, those of the directory after all others.
  for (const { path, names, statement } of [
    ...selects,
    ...statements.filter((each) => !selects.includes(each)).reverse(),
  ]) {
    const rows: Row[] = [];
    for (const values of own[names.join('.')] ?? [{}])
      rows.push(...(await statement.bind({ ...common, ...values }).all(env.DB)).results);
    if (rows.length === 0) withoutRow.push(`${path}: ${names.join('.')}`);
    returned.push({ path, names, columns: columnsOf(rows) });
  }
  expect(withoutRow).toEqual([]);
  await expect(moduleOf(returned)).toMatchFileSnapshot('./returned-columns.ts');
});

/** The types of each column in all rows, such as `{ expiresAt: 'number | null' }`. */
function columnsOf(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {}).map((column) => {
    const types = rows.map(({ [column]: value }) => (value === null ? 'null' : typeof value));
    return `${column}: '${[...new Set(types)].sort().reverse().join(' | ')}'`;
  });
  return `{ ${columns.join(', ')} }`;
}

/** What a statement returned, and where it is exported: see `everyStatement`. */
interface Returned {
  path: string;
  names: readonly string[];
  columns: string;
}

/** An object literal with the columns of each statement, under its names. */
function literal(returned: readonly Returned[], indentation: string): string {
  const lines = [...Map.groupBy(returned, ({ names }) => names[0] ?? '')]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, members]) => {
      const inner = members.map((one) => ({ ...one, names: one.names.slice(1) }));
      const own = inner.find(({ names }) => names.length === 0);
      return `${indentation}  ${name}: ${own?.columns ?? literal(inner, `${indentation}  `)},\n`;
    });
  return `{\n${lines.join('')}${indentation}}`;
}

/** A module whose types tsc compares with the declared rows. */
function moduleOf(returned: readonly Returned[]): string {
  const files = [...Map.groupBy(returned, ({ path }) => path)].sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = files.map(
    ([path, members]) =>
      `  '${path}': ${literal(members, '  ')} satisfies ReturnedColumns<typeof import('../../src/${path}')>,\n`,
  );
  return `// Written by returned-columns.test.ts: what each statement returned from a filled database.
import type { ReturnedColumns } from './column-types.ts';

export const RETURNED_COLUMNS = {
${parts.join('')}};
`;
}

/**
 * Fills the tables, and returns the parameters of the statements: by name, and in `own` those of one
 * statement, for each time that it runs. SQLite sorts every number before every text.
 */
async function fillDatabase(): Promise<{ common: Values; own: Record<string, Values[]> }> {
  const { organization, key, keyId, api } = await makeWorld();
  const [admin, operator] = [asAdmin(organization), asOperator()];
  const now = Date.now();
  const full = await makeKey(organization, {
    expires: '2030-01-01',
    dayLimit: { records: 100, minutes: 600 },
    networks: '192.0.2.0/24',
    description: 'Closes alerts',
    owner: 'Tess',
  });
  const successor = await rotate(organization, full.id, { grace: '24h' });
  const revoked = await makeKey(organization);
  await revoke(organization, revoked.id);
  await recordRefusedUses(operator, {
    organizationId: organization,
    keyId,
    reason: 'scope_missing',
    count: 2,
    sourceAddress: '192.0.2.9',
    lost: [{ at: 1, idempotencyKey: 'a:1', ticketId: '1', requestId: 'r' }],
  });
  await recordRefusedUses(operator, {
    organizationId: organization,
    keyId: full.id,
    reason: 'address_not_allowed',
    count: 1,
    sourceAddress: null,
  });

  const write = async (response: Promise<Response>, field: string) => {
    const body: Record<string, { id: string }> = await (await response).json();
    return body[field]?.id ?? 'no record';
  };
  const redactedNote = await write(api.postNote(key, NOTE, { 'Idempotency-Key': 'one' }), 'note');
  const redactedEntry = await write(api.postTime(key), 'entry');
  const decide = (entry: string) =>
    setApproval(operator, { organization, entry, decision: 'APPROVED', reviewer: 'ada' });
  await decide(redactedEntry);
  await redactRecord(operator, { organization, kind: 'note', id: redactedNote, by: 'Ada' });
  await redactRecord(operator, { organization, kind: 'time_entry', id: redactedEntry, by: 'Ada' });
  await reportRecord(operator, { organization, kind: 'note', id: redactedNote, result: 'refused', reason: 'Closed' });

  const rules = { maxLifetimeDays: 3_650, expiryRequired: false };
  await changeKeyRules(admin, 0, rules);

  const note = await write(api.postNote(key, NOTE, { 'Idempotency-Key': 'two' }), 'note');
  const entry = await write(api.postTime(key, { ...TIME, userEmail: 'tess@northwind.example' }), 'entry');
  const waiting = await write(api.postTime(key, { ...TIME, minutes: 600 }), 'entry');
  await decide(entry);

  await rotate(organization, successor.id, { expires: '2031-01-01', grace: '24h' });

  const state = {
    organizationId: organization,
    confirmedSeq: 1,
    // Long enough to report.
    failingSince: now - 3_600_000,
    attempts: 1,
    failure: 'HTTP 500',
    nextAttemptAt: now,
    stoppedAt: null,
  };
  await savePush.bind(state).all(env.DB);
  const failure = { reason: 'HTTP 401', isStopped: true };
  const connection = { organization, adapterId: crypto.randomUUID(), failure, takesOver: false };
  await reportConnection({ ...operator, now: () => now - 3_600_000 }, connection);

  const facts = await makeFacts(now);
  const erased = await makeWorld();
  await beginErasure(operator, {
    organization: erased.organization,
    cursor: await lastCursor(erased.organization),
    by: 'Ada',
  });

  const [row] = (await rowsOf('api_keys', organization)).filter(({ id }) => id === keyId);
  const [day] = await rowsOf('key_days', organization);
  const newRecord = () => [
    { id: crypto.randomUUID(), ticketId: '1001', requestId: crypto.randomUUID(), requestDigest: '0'.repeat(64) },
  ];
  const explained = [entry, waiting, redactedEntry, note, redactedNote, 'no record'].map((id) => ({
    id,
    ticketId: '1001',
  }));
  const differing = { id: 'new', name: 'New', company: 'globex', email: 'new@northwind.example', active: 1 };
  const records = { organization, user: 'tess', company: 'acme', agreement: 'acme-support', ticket: '1001' };
  const ofRecords = (statement: string, json: (id: string) => unknown): Record<string, Values[]> =>
    Object.fromEntries(
      Object.entries(records).map(([type, id]) => [`${statement}.${type}`, [{ json: JSON.stringify(json(id)) }]]),
    );
  return {
    common: {
      ...{ organizationId: organization, keyId, chainId: keyId, keyHash: await hashKey(key), hash: await hashKey(key) },
      ...{ hint: String(row?.['hint']), keyIds: JSON.stringify([keyId, full.id]), name: 'n8n: triage' },
      ...{ userId: 'ada', administratorId: 'ada', email: 'ada@northwind.example', userEmail: 'tess@northwind.example' },
      ...{ id: note, note, time_entry: entry, ids: JSON.stringify([note, entry]), ticketId: null, requestId: null },
      ...{ organizationIds: JSON.stringify([organization]), formToken: 'token', by: 'Ada' },
      ...{ reasons: '["scope_missing"]', reason: 'scope_missing', beforeKeyId: '~', beforeReason: '~' },
      ...{ now, soon: now, since: 0, erasedSince: 0, until: LARGE, at: 0, day: String(day?.['day']) },
      ...{
        limit: 1_000,
        examine: 1_000,
        before: LARGE,
        from: 0,
        after: '',
        actions: null,
      },
      ...{ seq: 0, isPushed: 0 },
      ...{ timeZone: 'UTC', allowedNetworks: '', bytes: 1, minutes: 1, message: 'x', description: 'x', billable: 1 },
      ...{
        expiresAt: null,
        dayLimitRecords: null,
        keyDayRecords: null,
        keyDayBytes: null,
        organizationDayRecords: null,
        organizationDayBytes: null,
      },
    },
    own: {
      // Every organization of the tests has an administrator with this address; ours is the first.
      findAdministrator: [{ limit: 1 }],
      ...facts,
      'FACT_SOURCES.time_waiting.statement': [{ ...ALL_ORGANIZATIONS, each: 10 }],
      'FACT_SOURCES.time_waiting.ofPage': [{}],
      ...fromKeys(
        ['findAuditPage', 'findAuditPageOfKey'].map((page) => `${page}.rows`),
        () => [{ minutes: null }],
      ),
      'findAuditPageOfAdministrator.rows': [{ minutes: null, keyId: '' }],
      findCompanies: [{ ids: JSON.stringify(['acme']) }],
      findUnrevoked: [{ keyIds: JSON.stringify([keyId]) }],
      findKeyByHash: [{}, { hash: 'unknown' }],
      findKeyPage: [{ before: '~' }],
      findCursorPosition: [{}, { seq: LARGE }, { organizationId: 'nobody' }],
      findApproval: [{ id: entry }, { id: waiting }, { id: redactedEntry }],
      findEntries: [{ to: LARGE, status: null, characters: 9 }],
      findEntriesById: [{ ids: JSON.stringify([entry, waiting, redactedEntry]), characters: 9 }],
      findConnections: [ALL_ORGANIZATIONS],
      findOpenErasure: [{ organizationId: erased.organization }],
      FIND_ERASURES: [{ organizationId: erased.organization }],
      'findRecord.time_entry': [{ id: entry }],
      countRefusals: [{ from: organization, to: organization }],
      findTicket: [{ id: '1001' }],
      explainNote: explained,
      explainServiceTimeEntry: explained,
      explainTechnicianTimeEntry: explained,
      insertNote: newRecord(),
      insertServiceTimeEntry: newRecord(),
      insertTechnicianTimeEntry: newRecord(),
      markRevokedByAdministrator: [{ keyId: successor.id }],
      markRevokedByOperator: [{ keyId: full.id }],
      FIND_ORGANIZATIONS: [{ json: JSON.stringify([organization]) }],
      FIND_COMPANIES: [{ json: '["acme"]' }],
      FIND_HELD_EMAILS: [{ json: JSON.stringify([{ ...differing, email: 'ada@northwind.example' }]) }],
      FIND_HELD_COMPANIES: [{ json: JSON.stringify([{ ...differing, company: 'acme' }]) }],
      ...ofRecords('FIND_DIFFERING_RECORDS', (id) => [{ ...differing, id }, differing]),
      ...ofRecords('FIND_RECORDS', (id) => [id]),
      ...ofRecords('DEACTIVATE_RECORDS', (id) => [id]),
    },
  };
}

/** An organization with every fact and an alert: the parameters of their statements. */
async function makeFacts(now: number): Promise<Record<string, Values[]>> {
  const id = `facts-${crypto.randomUUID().slice(0, 8)}`;
  const quiet = { id: `quiet-${id}`, name: 'Without changes' };
  await importOrganizations(env.DB, [{ id, name: 'Facts' }, quiet], `max@${id}.example`);
  await insertKeys(env.DB, id, 60, now);
  const run = (sql: string) => env.DB.prepare(sql).bind(id, now).run();
  await run("insert into pushes values (?1, 0, ?2, 1, 'HTTP 500', null, null)");
  await run("insert into psa_refusals values (?1, 'r', 'note', 'Closed', ?2)");
  await run("insert into alerts values (?1, 'key_expiring', 'k', 1, 'alert_1', ?2, 'text', 1, 1, 0)");
  const limits = { keyRecords: 1, keyBytes: 1, organizationRecords: 1, organizationBytes: 1 };
  const values = {
    each: 1_000,
    ...{
      from: id,
      to: id,
      organizationIds: JSON.stringify([id]),
      isPushed: 1,
      now: now + 3_600_000,
      firstDay: '2000-01-01',
      limit: 1_000,
    },
    ...{ ...limits, databaseBytes: 9, databaseLimit: 10 },
  };
  return {
    ...Object.fromEntries(
      Object.keys(FACT_SOURCES).flatMap((type) =>
        ['statement', 'ofPage'].map((name) => [`FACT_SOURCES.${type}.${name}`, [values]]),
      ),
    ),
    'FACT_SOURCES.database_size.statement': [{ ...values, ...ALL_ORGANIZATIONS }],
    findStoredAlerts: [{ types: '["key_expiring"]', each: 10 }],
    claimAlerts: [{ givenUpUntil: 0, claimedUntil: now, each: 10 }],
  };
}

const LARGE = Number.MAX_SAFE_INTEGER;
