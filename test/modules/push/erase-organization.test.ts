import { env } from 'cloudflare:workers';
import { expect, test, vi } from 'vitest';
import { ERASED_TABLES, tableName } from '../../../src/db/directory/erasure.ts';
import { beginErasure, eraseRows } from '../../../src/services/directory/erase-organization.ts';
import { recordRefusal } from '../../../src/services/keys/record-refusal.ts';
import { revokeAsAdministrator, revokeAsOperator } from '../../../src/services/keys/revoke-key.ts';
import { resumePush } from '../../../src/services/work/push-control.ts';
import { redactRecord, setApproval } from '../../../src/services/work/record-services.ts';
import { aroundD1 } from '../../support/d1.ts';
import { eraseOrganization } from '../../support/erase-organization.ts';
import { inLongRuns } from '../../support/property.ts';
import { lastCursor } from '../../support/psa-calls.ts';
import { refusedRequest } from '../../support/refused-requests.ts';
import { asAdmin, asOperator, importRecords, makeApi, makeKey, makeWorld, rowsOf } from '../../support/world.ts';
import { makePsa } from '../psa/support.ts';
import { asPushOperator, setPush } from './support.ts';

/** An organization with rows in every table, and the cursor of its last change. */
async function makeFull() {
  const made = await makeWorld({ approvals: 'psa' });
  const { organization, key, keyId, api } = made;
  const created = Date.now() - 181 * 24 * 60 * 60 * 1000;
  await makeKey(organization, {}, () => created);
  await api.postNote(key);
  await api.postTime(key);
  const [entry] = await rowsOf('time_entries', organization);
  const decision = { entry: String(entry?.['id']), decision: 'APPROVED', reviewer: 'ada' } as const;
  await setApproval(asOperator(), { organization, ...decision });
  await makeKey(organization);
  for (let i = 0; i < 3; i++) {
    await api.postNote(key);
    await api.postTime(key);
  }
  await setPush(organization);
  await env.DB.batch(
    [
      "insert into refused_uses values (?1, ?2, 'revoked', 1, 0, 0, null, null, null, '', null), (?1, ?2, 'expired', 1, 0, 0, null, null, null, '', null)",
      "insert into refused_requests values (?1, 'r', ?2, 0, 422, 'validation_failed', '[\"/minutes\"]', '1001', null, null, null, null)",
      "insert into alerts values (?1, 'key_expiring', ?2, 1, 'a', 0, 'text', 0, 0, 0)",
      "insert into connections (organization_id, adapter_id, reported_at) values (?1, 'adapter', 0)",
      'insert into key_rules values (?1, null, 0, 240, 1)',
      `insert into deletions select ?1, seq from audit_log where organization_id = ?1 and at = ${created}`,
      "insert into psa_refusals values (?1, 'r', 'note', 'Closed', 0)",
    ].map((sql) => env.DB.prepare(sql).bind(...(sql.includes('?2') ? [organization, keyId] : [organization]))),
  );
  return { ...made, cursor: await lastCursor(organization) };
}

const lastSeqOf = async (organization: string) =>
  Math.max(...(await rowsOf('audit_log', organization)).map(({ seq }) => Number(seq)));

const erasureOf = (organization: string) =>
  env.DB.prepare('select * from erasures where organization_id = ?').bind(organization).first();

/** Resolves to `done`, or to the code of the error. */
const outcome = (call: Promise<unknown>) =>
  call.then(
    () => 'done',
    (err: unknown) => (err instanceof Error && 'code' in err ? err.code : err),
  );

/** Stops the erasure after its next chunk; undefined at the end. */
async function nextChunk(erasure: Awaited<ReturnType<typeof beginErasure>>, limit: number) {
  for await (const chunk of eraseRows(asOperator(), erasure, limit)) return chunk;
  return undefined;
}

/** How many rows an organization has in each table. */
async function countRows(organization: string): Promise<Record<string, number>> {
  const counts = [...ERASED_TABLES.map(tableName), 'organizations'].map((table) => {
    const column = table === 'organizations' ? 'id' : 'organization_id';
    return `(select count(*) from ${table} where ${column} = ?1) as ${table}`;
  });
  const statement = env.DB.prepare(`select ${counts.join(', ')}`).bind(organization);
  return (await statement.first<Record<string, number>>()) ?? {};
}

test('an erasure removes as many rows of each table as were counted before it', async () => {
  const { organization, cursor } = await makeFull();
  const counted = await countRows(organization);
  expect(Object.values(counted).every((rows) => rows > 0)).toBe(true);
  const erasure = await beginErasure(asOperator(), { organization, cursor, by: 'Ada' });
  expect(erasure).toMatchObject({ erasedBy: 'Ada', lastSeq: await lastSeqOf(organization) });
  const removed: Record<string, number> = {};
  for await (const { table, rows } of eraseRows(asOperator(), erasure, 2)) {
    expect(rows).toBeLessThanOrEqual(2);
    removed[table] = (removed[table] ?? 0) + rows;
  }
  expect(removed).toEqual(counted);
  expect(Object.values(await countRows(organization)).every((rows) => rows === 0)).toBe(true);
});

test('an erasure that stops after each chunk continues, and every call in between gets a clear response', async () => {
  const { organization, key, keyId, api, cursor } = await makeFull();
  const other = await makeFull();
  const others = await countRows(other.organization);
  const psa = makePsa();
  const run = (sql: string) =>
    env.DB.prepare(sql)
      .bind(organization)
      .run()
      .then(
        () => 'done',
        (err: Error) => err.message,
      );
  const [note] = await rowsOf('notes', organization);
  const entry = (await rowsOf('time_entries', organization)).find(({ status }) => status === 'SUBMITTED');
  const ticket = { type: 'ticket', organization, id: '9000', company: 'acme' };
  const again = [
    { type: 'organization', id: organization, name: 'Again', psa: true, timeZone: 'UTC', defaultHourlyRate: 1 },
  ];

  const erasure = await beginErasure(asOperator(), { organization, cursor, by: 'Ada' });
  const tables: string[] = [];
  const limit = inLongRuns(2, 3);
  for (;;) {
    const left = await countRows(organization);
    // Keys: dead at once, and a refused use does not keep the key from being removed.
    expect((await api.postNote(key)).status).toBe(401);
    expect((await makeApi().postTime(key)).status).toBe(401);
    await api.settled();
    const uses = { reason: 'scope_missing', count: 1, sourceAddress: null } as const;
    const request = refusedRequest(`late-${tables.length}`);
    await recordRefusal(asOperator(), { organizationId: organization, keyId }, { uses, request });
    await setPush(organization);

    // The PSA: nothing is read, changed or created.
    for (const [type, data] of [
      ['work.changes', { cursor: null }],
      ['work.changes', { cursor }],
      ['directory.upsert', { records: [ticket] }],
      ['directory.upsert', { records: again }],
      ['directory.upsert', { records: [...again, ticket] }],
      ['directory.deactivate', { records: [{ type: 'user', id: 'ada' }] }],
    ] as const)
      expect([type, await psa.call(type, { organization, ...data })]).toMatchObject([
        type,
        [409, { error: { code: 'being_erased' } }],
      ]);
    await expect(importRecords(...again)).rejects.toMatchObject({ code: 'being_erased' });
    const reviewed = { organization, entry: String(entry?.['id']), decision: 'APPROVED', reviewer: 'ada' } as const;
    const hasEntry = (await rowsOf('time_entries', organization)).some(({ id }) => id === entry?.['id']);
    expect(await outcome(setApproval(asOperator(), reviewed))).toBe(hasEntry ? 'being_erased' : 'record_not_found');
    const redacted = { organization, kind: 'note', id: String(note?.['id']), by: 'Eve' } as const;
    const hasNote = (await rowsOf('notes', organization)).some(({ id }) => id === note?.['id']);
    expect(await outcome(redactRecord(asOperator(), redacted))).toBe(hasNote ? 'being_erased' : 'record_not_found');
    expect(await countRows(organization)).toEqual(left);

    // The operator, and an administrator whose request had begun before.
    const revoked = hasKey(await rowsOf('api_keys', organization), keyId) ? 'being_erased' : 'key_not_found';
    expect(await outcome(revokeAsOperator(asOperator(), { organization, key: keyId, by: 'Eve' }))).toBe(revoked);
    expect(await outcome(revokeAsAdministrator(asAdmin(organization), keyId))).toBe(
      revoked === 'being_erased' && left['users'] === 0 ? 'not_administrator' : revoked,
    );
    expect(await outcome(resumePush(asPushOperator(), { organization, by: 'Eve' }))).toBe('being_erased');

    // The audit log: only the erasure removes rows, and nothing is added or changed.
    const isProtected = ['users', 'api_keys', 'tickets'].some((table) => (left[table] ?? 0) > 0);
    if (isProtected) expect(await run('delete from audit_log where organization_id = ?1')).toContain('append-only');
    if ((left['audit_log'] ?? 0) > 0) {
      expect(await run('update audit_log set at = 0 where organization_id = ?1')).toContain('append-only');
      expect(await run('insert or replace into audit_log select * from audit_log where organization_id = ?1')).toMatch(
        /being erased|seq must be the next/,
      );
    }
    expect(
      await run(
        `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id)
         select ?1, coalesce(max(seq), 0) + 1, 0, 'user', 'eve', 'Eve', 'note.created', 'x', 'r' from audit_log where organization_id = ?1`,
      ),
    ).toContain('being erased');
    expect(await run('update erasures set open = 0 where organization_id = ?1')).toContain('erasures are kept');
    expect(await erasureOf(organization)).toMatchObject({ open: 1, erased_by: 'Ada', request_id: erasure.requestId });

    // A second erasure is the same one, whatever cursor it names.
    expect(await beginErasure(asOperator(), { organization, cursor: null, by: 'Eve' })).toEqual(erasure);
    const chunk = await nextChunk(erasure, limit);
    if (!chunk) throw new Error('the end was not told');
    tables.push(chunk.table);
    if (chunk.table === 'organizations') break;
  }
  expect([...new Set(tables)]).toEqual([...ERASED_TABLES.map(tableName), 'organizations']);
  expect(tables.length).toBeGreaterThan(ERASED_TABLES.length + 2);
  expect(await nextChunk(erasure, 2)).toBeUndefined();
  expect(await erasureOf(organization)).toMatchObject({ open: 0, erased_by: 'Ada' });
  expect(await countRows(other.organization)).toEqual(others);
  expect((await other.api.postNote(other.key)).status).toBe(201);
  const resend = (recreate: boolean) =>
    psa.call('directory.upsert', { organization, records: again, recreate }, { at: Date.now() + 1_000 });
  expect(await resend(false)).toMatchObject([409, { error: { code: 'organization_erased' } }]);
  expect(await resend(true)).toMatchObject([200, { value: { written: true } }]);
});

const hasKey = (keys: readonly Record<string, unknown>[], keyId: string) => keys.some(({ id }) => id === keyId);

test.each(['before', 'after'] as const)(
  'an erasure is completed by a second call, whichever call to the database fails, %s it is committed',
  async (when) => {
    let isComplete = false;
    // A short run breaks one call in six before it is committed, and another one in six after it.
    const step = inLongRuns(1, 6);
    for (let failing = step === 6 && when === 'after' ? 4 : 1; !isComplete; failing += step) {
      const { organization, cursor } = await makeFull();
      let calls = 0;
      const db = aroundD1(env.DB, async (run) => {
        calls += 1;
        if (calls === failing && when === 'before') throw new Error('the process died');
        const results = await run();
        if (calls === failing) throw new Error('the process died');
        return results;
      });
      const request = { organization, cursor, by: 'Ada' };
      const first = await outcome(eraseOrganization(asOperator(db), request));
      isComplete = first === 'done';
      const second = await outcome(eraseOrganization(asOperator(), request));
      const isErased = isComplete || (await erasureOf(organization))?.['open'] === 0;
      expect([failing, isErased]).toEqual([failing, true]);
      expect(['done', 'organization_not_found']).toContain(second);
      expect((await countRows(organization))['organizations']).toBe(0);
    }
  },
);

test('the push learns when an erasure begins and when it has ended', async () => {
  const { organization, cursor } = await makeFull();
  const changed = vi.fn();
  const request = { organization, cursor, by: 'Ada' };
  await beginErasure({ ...asOperator(), changed }, request);
  expect(changed.mock.calls).toEqual([[organization]]);
  await eraseOrganization({ ...asOperator(), changed }, request);
  expect(changed.mock.calls).toEqual([[organization], [organization]]);
  expect(await outcome(eraseOrganization(asOperator(), request))).toBe('organization_not_found');
});

test('two calls at the same time erase an organization once', async () => {
  const { organization, cursor } = await makeFull();
  const call = () => outcome(eraseOrganization(asOperator(), { organization, cursor, by: 'Ada' }));
  const outcomes = await Promise.all([call(), call()]);
  expect(outcomes).toContain('done');
  expect(await erasureOf(organization)).toMatchObject({ open: 0 });
});
