import { env, exports } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { ERASE } from '../../src/db/directory/erasure.ts';
import type { Change } from '../../src/domain/change.ts';
import type { DirectoryRecordInput } from '../../src/domain/directory.ts';
import type { Answer } from '../../src/rpc/call.ts';
import { Directory } from '../../src/rpc/directory.ts';
import { Work } from '../../src/rpc/work.ts';
import { listKeys } from '../../src/services/keys/read-keys.ts';
import { rotateApiKey } from '../../src/services/keys/rotate-key.ts';
import { reviewTimeEntry } from '../../src/services/work/review-time-entry.ts';
import { aroundD1 } from '../support/d1.ts';
import { asAdmin, importRecords, makeApi, makeKey, makeOrganization, revoke, rowsOf, TIME } from '../support/world.ts';

// The calls go through real RPC: what is sent and answered is serialized on the way, as it is
// between two Workers.
const directory = exports.Directory;
const work = exports.Work;

const asPsa = { actor: 'psa' as const, source: { address: null, userAgent: 'psa' } };

const value = <T>(answer: Answer<T>): T => {
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
  return answer.value;
};

/** All changes of an organization. */
const allChanges = async (organization: string): Promise<Change[]> =>
  value(await work.changes(organization, null)).changes;

/** A wrong argument, as a caller without types would send it. */
const untyped = (input: unknown) => JSON.parse(JSON.stringify(input));

describe('Directory', () => {
  test('upsert creates, changes and leaves alone, and says of each record which', async () => {
    const organization = `rpc-${crypto.randomUUID().slice(0, 8)}`;
    const records: DirectoryRecordInput[] = [
      { type: 'organization', id: organization, name: 'Rpc', psa: true, timeZone: 'UTC', defaultHourlyRate: 80 },
      { type: 'company', organization, id: 'acme', name: 'Acme' },
      { type: 'ticket', organization, id: '1', company: 'acme' },
    ];
    const status = async () => value(await directory.upsert(organization, records)).records.map(({ status }) => status);
    expect(await status()).toEqual(['created', 'created', 'created']);
    records[1] = { type: 'company', organization, id: 'acme', name: 'Acme Ltd' };
    expect(await status()).toEqual(['unchanged', 'changed', 'unchanged']);
  });

  test('upsert writes all records or none, and says which is wrong and why', async () => {
    const organization = await makeOrganization();
    const { written, records } = value(
      await directory.upsert(organization, [
        { type: 'company', organization, id: 'fine', name: 'Fine' },
        untyped({ type: 'ticket', organization, id: '7', company: 'acme', active: 'no' }),
        { type: 'ticket', organization, id: '8', company: 'unheard-of' },
        { type: 'ticket', organization: 'another', id: '9', company: 'acme' },
        { type: 'ticket', organization, id: '8', company: 'acme' },
        untyped(null),
      ]),
    );
    expect(written).toBe(false);
    expect(records).toMatchObject([
      { status: 'not_written' },
      {
        status: 'refused',
        errors: [{ pointer: '/active', code: 'invalid_type' }],
      },
      { status: 'refused', errors: [{ pointer: '/company', code: 'unknown_reference' }] },
      { status: 'refused', errors: [{ pointer: '/organization', code: 'other_organization' }] },
      {
        status: 'refused',
        errors: [{ pointer: '/id', code: 'conflict', detail: 'id 8 is already used in records[2]' }],
      },
      { status: 'refused', errors: [{ pointer: '/type' }] },
    ]);
    expect(value(await directory.deactivate(organization, [{ type: 'company', id: 'fine' }])).records).toEqual([
      { status: 'not_found' },
    ]);
  });

  test('batches are bounded, and wrong shapes are refused by the name of the field', async () => {
    const organization = await makeOrganization();
    const ticket = { type: 'ticket' as const, organization, id: '1', company: 'acme' };
    expect(await directory.upsert(organization, Array(1001).fill(ticket))).toMatchObject({
      ok: false,
      error: { code: 'invalid', errors: [{ pointer: '/records', code: 'out_of_range' }] },
    });
    expect(await directory.upsert(untyped(7), untyped('x'))).toMatchObject({
      ok: false,
      error: {
        errors: [{ pointer: '/organization' }, { pointer: '/records', code: 'invalid_type' }],
      },
    });
    expect(await directory.deactivate(organization, untyped([{ type: 'invoice', id: '' }]))).toMatchObject({
      ok: false,
      error: { errors: [{ pointer: '/records/0/type' }, { pointer: '/records/0/id' }] },
    });
  });

  test('deactivate says what became of each record, and never takes the service account', async () => {
    const organization = await makeOrganization();
    const answer = await directory.deactivate(organization, [
      { type: 'user', id: 'tess' },
      { type: 'user', id: 'ivan' },
      { type: 'user', id: 'automation' },
      { type: 'ticket', id: '1001' },
      { type: 'ticket', id: 'unheard-of' },
      { type: 'organization', id: 'another' },
    ]);
    expect(value(answer).records.map(({ status }) => status)).toEqual([
      'deactivated',
      'unchanged',
      'service_account',
      'deactivated',
      'not_found',
      'not_found',
    ]);
  });
});

describe('an organization lives on', () => {
  const byTess = { ...TIME, userEmail: 'tess@northwind.example' };

  async function world() {
    const organization = await makeOrganization();
    const { value } = await makeKey(organization);
    const api = makeApi();
    const code = async (response: Promise<Response>) => {
      const { status } = await response;
      return status;
    };
    const entry = async (body: object = TIME, ticket = '1001') => {
      const response = await api.postTime(value, body, {}, ticket);
      return response.json<{ entry: { hourlyRate: number; userId: string }; agreementSource: string }>();
    };
    return { organization, key: value, api, code, entry };
  }

  test('the plan is lost and gained from one request to the next', async () => {
    const { organization, key, api, code } = await world();
    const plan = (psa: boolean) =>
      importRecords({
        type: 'organization',
        id: organization,
        name: 'Northwind',
        psa,
        timeZone: 'UTC',
        defaultHourlyRate: 120,
      });
    expect(await code(api.postNote(key))).toBe(201);
    await plan(false);
    expect(await code(api.postNote(key))).toBe(403);
    await plan(true);
    expect(await code(api.postNote(key))).toBe(201);
  });

  test('a deactivated organization answers 401 to all its keys, until it is active again', async () => {
    const { organization, key, api, code } = await world();
    await directory.deactivate(organization, [{ type: 'organization', id: organization }]);
    expect(await code(api.postNote(key))).toBe(401);
    expect(await code(api.send('/api/v1/ping', { key }))).toBe(401);
    await importRecords({
      type: 'organization',
      id: organization,
      name: 'Northwind',
      psa: true,
      timeZone: 'UTC',
      defaultHourlyRate: 120,
    });
    expect(await code(api.postNote(key))).toBe(201);
  });

  test.each([
    { type: 'ticket' as const, id: '1001' },
    { type: 'company' as const, id: 'acme' },
  ])('the ticket of a deactivated $type is not found', async (reference) => {
    const { organization, key, api } = await world();
    await directory.deactivate(organization, [reference]);
    const response = await api.postNote(key);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'ticket_not_found' });
  });

  test('a changed agreement sets the rate of the next entry, an ended one gives way to the default rate', async () => {
    const { organization, entry } = await world();
    expect(await entry()).toMatchObject({ entry: { hourlyRate: 150 }, agreementSource: 'company_default' });
    const agreement = { type: 'agreement', organization, id: 'acme-support', company: 'acme' } as const;
    await directory.upsert(organization, [{ ...agreement, hourlyRate: 175.5 }]);
    expect(await entry()).toMatchObject({ entry: { hourlyRate: 175.5 } });
    await directory.deactivate(organization, [{ type: 'agreement', id: 'acme-support' }]);
    expect(await entry()).toMatchObject({ entry: { hourlyRate: 120 }, agreementSource: 'organization_default' });
  });

  test('a ticket that moved to another company is billed as that one', async () => {
    const { organization, entry } = await world();
    await directory.upsert(organization, [{ type: 'ticket', organization, id: '1001', company: 'globex' }]);
    expect(await entry()).toMatchObject({ entry: { hourlyRate: 120 }, agreementSource: 'organization_default' });
  });

  test('a deactivated technician is credited no more', async () => {
    const { organization, key, api, entry } = await world();
    expect(await entry(byTess)).toMatchObject({ entry: { userId: 'tess' } });
    await directory.deactivate(organization, [{ type: 'user', id: 'tess' }]);
    const response = await api.postTime(key, byTess);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ code: 'technician_not_eligible' });
  });

  test('a renamed service account stays the one that is credited, and another one takes its place at once', async () => {
    const { organization, entry } = await world();
    const account = { type: 'user', organization, service: true } as const;
    await directory.upsert(organization, [
      { ...account, id: 'automation', email: 'bot@northwind.example', name: 'Bot' },
    ]);
    expect(await entry()).toMatchObject({ entry: { userId: 'automation' } });
    await directory.upsert(organization, [
      { ...account, id: 'robot', email: 'robot@northwind.example', name: 'Robot' },
    ]);
    expect(await entry()).toMatchObject({ entry: { userId: 'robot' } });
  });
});

describe('Work.changes', () => {
  test('a change carries its record, its key and its texts as plain text', async () => {
    const organization = await makeOrganization();
    const expires = new Date(Date.now() + 24 * 3_600_000).toISOString();
    const key = await makeKey(organization, { expires, name: '<b>n8n</b>' });
    const api = makeApi();
    await api.postNote(key.value, { message: '<script>alert(1)</script>' });
    await api.postTime(key.value, TIME, { 'Idempotency-Key': 'k-1' });
    await revoke(organization, key.id);

    const [created, note, entry, revoked] = await allChanges(organization);
    const shownKey = {
      id: key.id,
      name: { mediaType: 'text/plain', text: '<b>n8n</b>' },
      hint: key.hint,
      expiresAt: expires,
    };
    expect(created).toMatchObject({
      seq: 1,
      action: 'api_key.created',
      actor: { type: 'user', id: 'ada' },
      key: shownKey,
      note: null,
    });
    expect(note).toMatchObject({
      seq: 2,
      action: 'note.created',
      ticketId: '1001',
      actor: { type: 'api_key', id: key.id },
      key: shownKey,
      note: { ticketId: '1001', message: { mediaType: 'text/plain', text: '<script>alert(1)</script>' } },
      timeEntry: null,
    });
    expect(entry).toMatchObject({
      action: 'time_entry.created',
      idempotencyKey: 'k-1',
      timeEntry: {
        minutes: 30,
        hourlyRate: 150,
        billable: true,
        status: 'SUBMITTED',
        agreementSource: 'company_default',
        userId: 'automation',
      },
    });
    expect(revoked).toMatchObject({
      action: 'api_key.revoked',
      key: { id: key.id, revokedAt: expect.stringMatching(/Z$/) },
    });
  });

  test('a change says what was done in particular, and a rotated key names its successor', async () => {
    const organization = await makeOrganization();
    const old = await makeKey(organization);
    const admin = asAdmin(organization);
    const [details] = (await listKeys(admin)).live;
    if (!details) throw new Error('no key');
    await rotateApiKey(admin, 'twb', details, { grace: '1h' }, crypto.randomUUID());

    const [, rotated, created] = await allChanges(organization);
    const successorId = created?.targetId;
    expect(rotated).toMatchObject({
      action: 'api_key.rotated',
      detail: { mediaType: 'text/plain', text: `replaced by ${created?.key?.hint}` },
      key: { id: old.id, successorId },
    });
    expect(created).toMatchObject({ action: 'api_key.created', key: { id: successorId, successorId: null } });
    await makeApi().postNote(old.value);
    expect((await allChanges(organization)).at(-1)).toMatchObject({ action: 'note.created', detail: null });
  });

  test('any action on a key is passed on, also one that this version does not know', async () => {
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    await env.DB.prepare(
      `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id)
       values (?, 2, 0, 'user', 'ada', 'Ada', 'api_key.rotated', ?, 'r')`,
    )
      .bind(organization, key.id)
      .run();
    expect((await allChanges(organization))[1]).toMatchObject({ action: 'api_key.rotated', key: { id: key.id } });
  });

  test('every change is a place to go on from', async () => {
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    for (let i = 0; i < 4; i++) await makeApi().postNote(key.value);
    const changes = await allChanges(organization);
    for (const [index, { cursor }] of changes.entries()) {
      const page = value(await work.changes(organization, cursor, 2));
      expect(page.changes.map(({ seq }) => seq)).toEqual(changes.slice(index + 1, index + 3).map(({ seq }) => seq));
      expect(page.more).toBe(page.changes.length === 2);
      expect(page.cursor).toBe(page.changes.at(-1)?.cursor ?? cursor);
    }
  });

  test('an organization in which nothing happened has no changes and no cursor', async () => {
    expect(await work.changes(await makeOrganization(), null)).toEqual({
      ok: true,
      value: { changes: [], cursor: null, more: false },
    });
  });

  test('a page reads no more rows in a long log than in a short one', async () => {
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    const rowsRead = async () => {
      let rows = 0;
      const db = aroundD1(env.DB, async (run) => {
        const results = await run();
        rows = results.reduce((total, { meta }) => total + meta.rows_read, 0);
        return results;
      });
      const ctx = { db, now: Date.now, deadlineAt: Date.now() + 10_000, requestId: 'r', ...asPsa };
      const { listChanges } = await import('../../src/services/work/list-changes.ts');
      await listChanges(ctx, { organization, cursor: null, limit: 5 });
      return rows;
    };
    for (let i = 0; i < 5; i++) await makeApi().postNote(key.value);
    const short = await rowsRead();
    for (let i = 0; i < 60; i++) await makeApi().postTime(key.value);
    expect(await rowsRead()).toBe(short);
    expect(short).toBeLessThanOrEqual(3 + 3 * 5);
  });

  test.each([
    ['/organization', [7, null, 1]],
    ['/cursor', ['o', 'not a cursor', 1]],
    ['/cursor', ['o', 7, 1]],
    ['/limit', ['o', null, 0]],
    ['/limit', ['o', null, 101]],
    ['/limit', ['o', null, '5']],
  ])('a wrong %s is refused by its name', async (pointer, args) => {
    const [organization, cursor, limit] = args;
    expect(await work.changes(untyped(organization), untyped(cursor), untyped(limit))).toMatchObject({
      ok: false,
      error: { code: 'invalid', errors: [{ pointer }] },
    });
  });

  test('another organization, and none, are told apart from silence', async () => {
    expect(await work.changes('unheard-of', null)).toMatchObject({
      ok: false,
      error: { code: 'organization_not_found' },
    });
    const [one, other] = [await makeOrganization(), await makeOrganization()];
    await makeKey(one);
    await makeKey(other);
    const { cursor } = value(await work.changes(one, null));
    expect(await work.changes(other, cursor)).toMatchObject({ ok: false, error: { code: 'cursor_reset' } });
  });

  test('after a restore a cursor whose place is gone, or taken by something else, is reset', async () => {
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    await makeApi().postNote(key.value);
    const cursor = value(await work.changes(organization, null)).cursor ?? '';
    const [epoch, , requestId] = cursor.split('.');
    const reset = { ok: false, error: { code: 'cursor_reset' } };
    expect(await work.changes(organization, `${epoch}.2.another-request`)).toMatchObject(reset);
    expect(await work.changes(organization, `${epoch}.3.${requestId}`)).toMatchObject(reset);
    expect(await work.changes(organization, `0123456789abcdef.2.${requestId}`)).toMatchObject(reset);
    expect(await work.changes(organization, cursor)).toMatchObject({ ok: true });
  });
});

describe('Work.reviewTimeEntry', () => {
  async function submitted() {
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    const api = makeApi();
    const post = async () => {
      const response = await api.postTime(key.value, TIME, { 'Idempotency-Key': 'once' });
      return response.json<{ entry: { id: string; status: string }; idempotentReplay?: boolean }>();
    };
    return { organization, post, id: (await post()).entry.id };
  }

  test.each(['APPROVED', 'REJECTED'] as const)(
    'an entry is %s once, audited in the name of the reviewer',
    async (decision) => {
      const { organization, post, id } = await submitted();
      expect(await work.reviewTimeEntry(organization, id, decision, 'ada')).toEqual({
        ok: true,
        value: { status: decision },
      });
      for (const again of ['APPROVED', 'REJECTED'] as const) {
        expect(await work.reviewTimeEntry(organization, id, again, 'ada')).toMatchObject({
          ok: false,
          error: { code: 'already_reviewed', detail: expect.stringContaining(`already ${decision} by ada at`) },
        });
      }
      const audited = (await allChanges(organization)).slice(2);
      expect(audited).toMatchObject([
        {
          action: `time_entry.${decision.toLowerCase()}`,
          actor: { type: 'user', id: 'ada' },
          ticketId: '1001',
          timeEntry: { id, status: decision },
        },
      ]);
      expect(await post()).toMatchObject({ entry: { id, status: decision }, idempotentReplay: true });
    },
  );

  test.each(['tess', 'automation', 'unheard-of'])('%s may not review', async (reviewer) => {
    const { organization, id } = await submitted();
    expect(await work.reviewTimeEntry(organization, id, 'APPROVED', reviewer)).toMatchObject({
      ok: false,
      error: { code: 'reviewer_not_eligible' },
    });
    expect(await rowsOf('time_entries', organization)).toMatchObject([{ status: 'SUBMITTED' }]);
  });

  test('an administrator who is inactive by now, or of another organization, may not review', async () => {
    const { organization, id } = await submitted();
    const other = await makeOrganization();
    expect(await work.reviewTimeEntry(other, id, 'APPROVED', 'ada')).toMatchObject({
      ok: false,
      error: { code: 'record_not_found' },
    });
    await directory.deactivate(organization, [{ type: 'user', id: 'ada' }]);
    expect(await work.reviewTimeEntry(organization, id, 'APPROVED', 'ada')).toMatchObject({
      ok: false,
      error: { code: 'reviewer_not_eligible' },
    });
  });

  test('simultaneous reviews end with one decision and one audit row', async () => {
    const { organization, id } = await submitted();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        work.reviewTimeEntry(organization, id, i % 2 ? 'APPROVED' : 'REJECTED', 'ada'),
      ),
    );
    expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await rowsOf('audit_log', organization)).toHaveLength(3);
  });

  test('a review whose acknowledgement was lost is recognised as its own', async () => {
    const { organization, id } = await submitted();
    let calls = 0;
    const db = aroundD1(env.DB, async (run) => {
      const results = await run();
      if (++calls === 1) throw new Error('Network connection lost.');
      return results;
    });
    const ctx = { db, now: Date.now, deadlineAt: Date.now() + 10_000, requestId: 'lost', ...asPsa };
    expect(await reviewTimeEntry(ctx, { organization, entry: id, decision: 'APPROVED', reviewer: 'ada' })).toEqual({
      status: 'APPROVED',
    });
    expect(calls).toBe(3);
  });

  test('the database itself refuses to undo a review', async () => {
    const { organization, id } = await submitted();
    await work.reviewTimeEntry(organization, id, 'REJECTED', 'ada');
    await expect(
      env.DB.prepare(`update time_entries set status = 'SUBMITTED' where organization_id = ? and id = ?`)
        .bind(organization, id)
        .run(),
    ).rejects.toThrow('a review cannot be undone');
  });

  test('wrong shapes are refused by the name of the argument', async () => {
    expect(await work.reviewTimeEntry('o', 'x', untyped('MAYBE'), '')).toMatchObject({
      ok: false,
      error: { errors: [{ pointer: '/entry' }, { pointer: '/decision' }, { pointer: '/reviewer' }] },
    });
  });
});

describe('Work.redactRecord', () => {
  test('the text of a note or time entry is replaced everywhere, once, and audited', async () => {
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    const api = makeApi();
    await api.postNote(key.value, { message: 'the password is hunter2' });
    await api.postTime(key.value, { ...TIME, description: 'hunter2' });
    const [, note, entry] = await allChanges(organization);
    const noteId = note?.targetId ?? '';
    const entryId = entry?.targetId ?? '';

    expect(await work.redactRecord(organization, 'note', noteId, 'Ada, ticket 77')).toEqual({
      ok: true,
      value: { status: 'redacted' },
    });
    expect(await work.redactRecord(organization, 'time_entry', entryId, 'Ada')).toEqual({
      ok: true,
      value: { status: 'redacted' },
    });
    expect(await work.redactRecord(organization, 'note', noteId, 'Ada')).toEqual({
      ok: true,
      value: { status: 'unchanged' },
    });

    const changes = await allChanges(organization);
    expect(changes.slice(1)).toMatchObject([
      { action: 'note.created', note: { message: { text: '[redacted]' } } },
      { action: 'time_entry.created', timeEntry: { description: { text: '[redacted]' } } },
      {
        action: 'note.redacted',
        ticketId: '1001',
        actor: { type: 'system', id: 'psa', name: { text: 'Ada, ticket 77' } },
        note: { message: { text: '[redacted]' } },
      },
      { action: 'time_entry.redacted', timeEntry: { id: entryId } },
    ]);
    const rows = [...(await rowsOf('notes', organization)), ...(await rowsOf('time_entries', organization))];
    expect(rows.map(({ request_digest }) => request_digest)).toEqual(['', '']);
    expect(JSON.stringify(rows)).not.toContain('hunter2');
  });

  test('a record of another organization is not found', async () => {
    const [organization, other] = [await makeOrganization(), await makeOrganization()];
    await makeApi().postNote((await makeKey(organization)).value);
    const [, note] = await allChanges(organization);
    expect(await work.redactRecord(other, 'note', note?.targetId ?? '', 'Ada')).toMatchObject({
      ok: false,
      error: { code: 'record_not_found' },
    });
    expect(await work.redactRecord(organization, untyped('ticket'), 'x', '')).toMatchObject({
      ok: false,
      error: { errors: [{ pointer: '/kind' }, { pointer: '/id' }, { pointer: '/by' }] },
    });
  });
});

describe('Work.eraseOrganization', () => {
  /** Every table that holds rows of organizations, whoever added it. */
  async function rowsByTable(organization: string): Promise<Record<string, number>> {
    const { results } = await env.DB.prepare(
      `select name from sqlite_master where type = 'table' and sql like '%organization\\_id%' escape '\\'`,
    ).all<{ name: string }>();
    const counts = await env.DB.batch<{ rows: number }>(
      results.map(({ name }) =>
        env.DB.prepare(`select count(*) as rows from ${name} where organization_id = ?`).bind(organization),
      ),
    );
    return Object.fromEntries(results.map(({ name }, index) => [name, counts[index]?.results[0]?.rows ?? -1]));
  }

  async function busy() {
    const organization = await makeOrganization();
    const key = await makeKey(organization);
    await makeApi().postNote(key.value);
    await makeApi().postTime(key.value);
    return { organization, key };
  }

  test('an erasure deletes from every table that holds rows of organizations, its own record excepted', async () => {
    const { erasures: _, ...tables } = await rowsByTable('nobody');
    const deleted = ERASE.flatMap(({ sql }) => /^delete from (\w+)/.exec(sql)?.[1] ?? []);
    expect(deleted.toSorted()).toEqual([...Object.keys(tables), 'organizations'].toSorted());
  });

  test('whoever has read everything can erase it, in every table; what remains is the record that it was done', async () => {
    const { organization, key } = await busy();
    const { cursor } = value(await work.changes(organization, null));
    expect(await work.eraseOrganization(organization, cursor, 'Ada, by letter')).toEqual({
      ok: true,
      value: { auditRows: 3 },
    });
    const { erasures, ...rest } = await rowsByTable(organization);
    expect(erasures).toBe(1);
    expect(Object.values(rest).every((rows) => rows === 0)).toBe(true);
    expect(
      await env.DB.prepare('select count(*) as n from organizations where id = ?').bind(organization).first('n'),
    ).toBe(0);
    expect(
      await env.DB.prepare('select * from erasures where organization_id = ?').bind(organization).first(),
    ).toMatchObject({
      erased_by: 'Ada, by letter',
      last_seq: 3,
      open: 0,
    });
    expect((await makeApi().postNote(key.value)).status).toBe(401);
    expect(await work.changes(organization, cursor)).toMatchObject({
      ok: false,
      error: { code: 'organization_not_found' },
    });
  });

  test('changes that were not read stand in the way, and nothing is touched', async () => {
    const { organization } = await busy();
    const before = await rowsByTable(organization);
    const [first] = await allChanges(organization);
    for (const cursor of [null, first?.cursor ?? '']) {
      expect(await work.eraseOrganization(organization, cursor, 'Ada')).toMatchObject({
        ok: false,
        error: { code: 'not_exported' },
      });
    }
    expect(await rowsByTable(organization)).toEqual(before);
  });

  test('an organization under the same id begins anew, and the old cursor is reset', async () => {
    const organization = await makeOrganization();
    const again = () =>
      importRecords(
        {
          type: 'organization',
          id: organization,
          name: 'Northwind',
          psa: true,
          timeZone: 'UTC',
          defaultHourlyRate: 120,
        },
        { type: 'user', organization, id: 'ada', email: 'ada@northwind.example', name: 'Ada', admin: true },
      );
    await makeKey(organization);
    const { cursor } = value(await work.changes(organization, null));
    await work.eraseOrganization(organization, cursor, 'Ada');
    await again();
    await makeKey(organization);
    expect(await work.changes(organization, cursor)).toMatchObject({ ok: false, error: { code: 'cursor_reset' } });
    expect(value(await work.changes(organization, null)).changes).toMatchObject([{ seq: 1 }]);
  });

  test('neighbours keep everything, and their audit log stays closed to deletion', async () => {
    const [{ organization }, neighbour] = [await busy(), await busy()];
    const before = await rowsByTable(neighbour.organization);
    await work.eraseOrganization(organization, value(await work.changes(organization, null)).cursor, 'Ada');
    expect(await rowsByTable(neighbour.organization)).toEqual(before);
    for (const sql of [
      'delete from audit_log where organization_id = ?1',
      'update audit_log set at = 0 where organization_id = ?1',
      `insert or replace into audit_log select * from audit_log where organization_id = ?1`,
    ]) {
      await expect(env.DB.prepare(sql).bind(neighbour.organization).run()).rejects.toThrow('audit_log');
    }
  });

  test('the record of an erasure cannot be changed, closed early, overwritten or removed', async () => {
    const { organization } = await busy();
    await work.eraseOrganization(organization, value(await work.changes(organization, null)).cursor, 'Ada');
    for (const sql of [
      'delete from erasures where organization_id = ?1',
      'update erasures set open = 1 where organization_id = ?1',
      `update erasures set erased_by = 'nobody' where organization_id = ?1`,
      'insert or replace into erasures select organization_id, request_id, 0, erased_by, last_seq, 1 from erasures where organization_id = ?1',
    ]) {
      await expect(env.DB.prepare(sql).bind(organization).run()).rejects.toThrow('erasures are kept');
    }
    const { organization: other } = await busy();
    await expect(
      env.DB.batch([
        env.DB.prepare(`insert into erasures values (?, 'r', 0, 'nobody', 0, 1)`).bind(other),
        env.DB.prepare('delete from audit_log where organization_id = ?').bind(other),
        env.DB.prepare('update erasures set open = 0 where organization_id = ?').bind(other),
      ]),
    ).rejects.toThrow('erasures are kept');
    expect(await rowsOf('audit_log', other)).toHaveLength(3);
  });
});

test('no HTTP request reaches an entrypoint, not even one with a good key', async () => {
  const { value: key } = await makeKey(await makeOrganization());
  const names = ['Directory', 'Work', 'rpc', 'rpc/Directory/upsert', 'rpc/Work/changes', 'changes', 'directory'];
  for (const path of names.flatMap((name) => [`/${name}`, `/api/v1/${name}`, `/${name.toLowerCase()}`])) {
    for (const method of ['GET', 'POST']) {
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Upgrade: 'jsrpc' };
      const response = await exports.default.fetch(`https://api.example${path}`, {
        method,
        headers,
        ...(method === 'POST' && { body: '{}' }),
      });
      expect(response.status, `${method} ${path}`).toBe(404);
    }
  }
  const methods = (entrypoint: { prototype: object }) => Object.getOwnPropertyNames(entrypoint.prototype).slice(1);
  expect(methods(Directory)).toEqual(['upsert', 'deactivate']);
  expect(methods(Work)).toEqual(['changes', 'reviewTimeEntry', 'redactRecord', 'eraseOrganization']);
});
