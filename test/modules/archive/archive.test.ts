import { env } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { RECORD_KIND_NAMES, RECORD_KINDS } from '../../../src/domain/record-kinds.ts';
import type { ObjectStore } from '../../../src/lib/object-store.ts';
import { gunzip } from '../../../src/modules/archive/gzip.ts';
import { redactRecord } from '../../../src/services/work/record-services.ts';
import { countD1 } from '../../support/d1.ts';
import { failureOf, lastCursor, resultOf, work } from '../../support/rpc.ts';
import { loggedLines } from '../../support/searched-logs.ts';
import { asOperator, makeKey, makeWorld, NOTE, problemOf, rotate, rowsOf, TIME } from '../../support/world.ts';
import { archive, archiveContext, bucket, everyChange, failing, objectsIn, releaseAll } from './support.ts';

const keyed = (idempotencyKey: string) => ({ 'Idempotency-Key': idempotencyKey });

/** The response without what belongs to the request only. */
async function seen(sent: Promise<Response>) {
  const response = await sent;
  const names = ['Idempotency-Replayed', 'Idempotency-Mismatch'];
  return {
    status: response.status,
    headers: names.map((name) => response.headers.get(name)),
    body: await response.json(),
  };
}

type World = Awaited<ReturnType<typeof makeWorld>>;

/** Reviews all entries of an organization that are not reviewed. */
async function reviewAll(organization: string, decision: 'APPROVED' | 'REJECTED' = 'APPROVED'): Promise<void> {
  for (const { id, status } of await rowsOf('time_entries', organization))
    if (status === 'SUBMITTED') resultOf(await work.reviewTimeEntry(organization, String(id), decision, 'ada'));
}

/** A world with a note, a reviewed entry, and one more note; the first two are archived. */
async function archivedWorld() {
  const world = await makeWorld();
  const { organization, key, api } = world;
  const note = await seen(api.postNote(key, { message: 'the password is hunter2' }, keyed('n')));
  const entry = await seen(api.postTime(key, { ...TIME, description: 'it was hunter3' }, keyed('e')));
  await reviewAll(organization);
  await api.postNote(key, NOTE, keyed('last'));
  await releaseAll(organization);
  const step = await archive(organization);
  if (step.status !== 'archived') throw new Error(step.status);
  const idOf = ({ body }: { body: unknown }) => /"id":"([^"]+)"/.exec(JSON.stringify(body))?.[1] ?? '';
  return { ...world, object: step.object, noteId: idOf(note), entryId: idOf(entry) };
}

describe('a replay', () => {
  test('a replay of an archived record gets the same response as any other', async () => {
    const { organization, key, api } = await makeWorld();
    const technician = { ...TIME, billable: false, userEmail: 'tess@northwind.example' };
    const requests = {
      note: () => seen(api.postNote(key, NOTE, keyed('n'))),
      entry: () => seen(api.postTime(key, TIME, keyed('e'))),
      credited: () => seen(api.postTime(key, technician, keyed('t'), '1002')),
      mismatch: () => seen(api.postNote(key, { message: 'Another text' }, keyed('n'), '1002')),
      entryMismatch: () => seen(api.postTime(key, { ...TIME, minutes: 31 }, keyed('e'), '1003')),
    };
    for (const send of Object.values(requests)) await send();
    const [first] = await rowsOf('time_entries', organization);
    resultOf(await work.reviewTimeEntry(organization, String(first?.['id']), 'REJECTED', 'ada'));
    await reviewAll(organization);
    await releaseAll(organization);
    const before = await Promise.all(Object.values(requests).map((send) => send()));
    expect(before.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(before).toMatchObject(Array(5).fill({ body: { delivery: { state: 'handed_over' } } }));

    await api.postNote(key);
    await releaseAll(organization);
    expect(await archive(organization)).toMatchObject({ status: 'archived', fromSeq: 1, toSeq: 6 });
    expect([await rowsOf('notes', organization), await rowsOf('time_entries', organization)]).toMatchObject([[{}], []]);
    expect(await Promise.all(Object.values(requests).map((send) => send()))).toEqual(before);
    for (const refused of [
      api.postNote(key, { message: 'Another text' }, { ...keyed('n'), Prefer: 'handling=strict' }),
      api.postTime(key, { ...TIME, minutes: 31 }, { ...keyed('e'), Prefer: 'handling=strict' }),
    ])
      expect(await problemOf(refused)).toBe('409 idempotency_mismatch');
    expect(await rowsOf('audit_log', organization)).toMatchObject([{ seq: 7 }]);
  });

  test('a key that is limited to companies gets archived records of its chain, and of tickets of its companies', async () => {
    const { organization, key, keyId, api } = await archivedWorld();
    const { value: unlimited } = await makeKey(organization);
    const { value: acme } = await makeKey(organization, { companies: 'acme' });
    const { value: globex } = await makeKey(organization, { companies: 'globex' });
    const codes = [];
    for (const [kind, body] of [
      ['n', { message: 'the password is hunter2' }],
      ['e', { ...TIME, description: 'it was hunter3' }],
    ] as const) {
      const send = kind === 'n' ? api.postNote : api.postTime;
      expect(await seen(send(acme, body, keyed(kind)))).toEqual(await seen(send(unlimited, body, keyed(kind))));
      codes.push(
        await problemOf(send(globex, body, keyed(kind), '1002')),
        await problemOf(send(globex, body, keyed(kind))),
      );
    }
    expect(codes).toEqual(Array(2).fill(['409 idempotency_mismatch', '404 ticket_not_found']).flat());
    // The key that wrote them, limited since.
    await env.DB.prepare("update api_keys set companies = 'globex' where id = ?").bind(keyId).run();
    expect((await api.postNote(key, { message: 'the password is hunter2' }, keyed('n'))).status).toBe(200);
  });

  test('a replay of an archived record shows its delivery to the rotation chain that wrote it, and to no other key', async () => {
    const { organization, key, keyId, api, noteId, entryId } = await archivedWorld();
    const successor = await rotate(organization, keyId, { grace: '24h' });
    const stranger = await makeKey(organization);
    const bodies = async (by: string) => [
      (await seen(api.postNote(by, NOTE, keyed('n')))).body,
      (await seen(api.postTime(by, TIME, keyed('e')))).body,
    ];
    expect(await bodies(key)).toMatchObject(Array(2).fill({ delivery: { state: 'handed_over' } }));
    resultOf(await work.report(organization, 'note', noteId, 'refused', 'Closed'));
    resultOf(await work.report(organization, 'time_entry', entryId, 'refused', 'Closed'));
    for (const by of [key, successor.value])
      expect(await bodies(by)).toMatchObject(Array(2).fill({ delivery: { state: 'refused' } }));
    for (const body of await bodies(stranger.value)) expect(body).not.toHaveProperty('delivery');
  });

  test('a replay of an archived record works while the archive cannot be reached', async () => {
    const { key, api, object } = await archivedWorld();
    await env.ARCHIVE.delete(object);
    expect((await api.postNote(key, NOTE, keyed('n'))).status).toBe(200);
    expect((await api.postTime(key, TIME, keyed('e'))).status).toBe(200);
  });

  test('a replay of an archived record with an inactive ticket gets its response', async () => {
    const { organization, key, api } = await archivedWorld();
    await env.DB.prepare('update tickets set active = 0 where organization_id = ?').bind(organization).run();
    expect((await api.postNote(key, NOTE, keyed('n'))).status).toBe(200);
    expect((await api.postNote(key, NOTE, keyed('new'))).status).toBe(404);
  });
});

test('the stub of an archived record has the rotation chain of its key', async () => {
  const { organization, keyId, api } = await makeWorld();
  const { value: successor } = await rotate(organization, keyId, { grace: 'now' });
  await api.postNote(successor);
  await api.postTime(successor);
  await api.postNote(successor);
  await releaseAll(organization);
  expect(await archive(organization)).toMatchObject({ status: 'archived' });
  const { results } = await env.DB.prepare(
    `select lower(hex(chain_id)) as chain from archived_notes where organization_id = ?1
     union all select lower(hex(chain_id)) from archived_time_entries where organization_id = ?1`,
  )
    .bind(organization)
    .all();
  const chain = keyId.replaceAll('-', '');
  expect(results).toEqual([{ chain }, { chain }]);
});

test('an archive writes 3 rows for a note or an entry, one for the row of its review, and one for each step', async () => {
  const written = async (write: (world: World) => Promise<unknown>, times: number) => {
    const world = await makeWorld();
    for (let i = 0; i < times; i++) await write(world);
    await reviewAll(world.organization);
    await world.api.postNote(world.key);
    await releaseAll(world.organization);
    const { db, calls } = countD1(env.DB);
    expect(await archive(world.organization, { db })).toMatchObject({ status: 'archived' });
    return calls.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0);
  };
  const note = ({ api, key }: World) => api.postNote(key);
  const entry = ({ api, key }: World) => api.postTime(key);
  // The archive, and the audit row of the key.
  expect(await written(note, 0)).toBe(1 + 1);
  // A note was 4 rows when it was written, so it is 7 in all; an entry 3, so 6.
  expect(await written(note, 10)).toBe(1 + 1 + 10 * 3);
  expect(await written(entry, 10)).toBe(1 + 1 + 10 * (3 + 1));
});

describe('the feed', () => {
  test('the feed references the archive, and continues with the rows', async () => {
    const { organization, object, noteId, entryId } = await archivedWorld();
    const first = resultOf(await work.changes(organization, null));
    expect(first).toMatchObject({ changes: [], archives: [{ object, fromSeq: 1, toSeq: 4 }], more: true });
    const second = resultOf(await work.changes(organization, first.cursor));
    expect(second).toMatchObject({ archives: [], changes: [{ seq: 5 }], more: false });

    const { archived, rows } = await everyChange(organization);
    expect([...archived, ...rows].map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(archived).toMatchObject([
      { action: 'api_key.created', key: { name: { text: 'n8n: triage' } } },
      {
        action: 'note.created',
        idempotencyKey: 'n',
        note: { id: noteId, message: { text: 'the password is hunter2' } },
      },
      {
        action: 'time_entry.created',
        timeEntry: { id: entryId, status: 'APPROVED', description: { text: 'it was hunter3' } },
      },
      { action: 'time_entry.approved', actor: { name: { text: 'Ada' } }, targetId: entryId, timeEntry: null },
    ]);
    // Neither addresses nor User-Agents are archived.
    expect(JSON.stringify(archived)).not.toMatch(/2001:db8|address|agent"/i);
  });

  test('a cursor within an archive leads to the whole archive, and a foreign cursor is refused', async () => {
    const { organization, key, api, object } = await archivedWorld();
    const { archived } = await everyChange(organization);
    for (const { cursor, seq } of archived.slice(0, 3)) {
      const page = resultOf(await work.changes(organization, cursor));
      expect([seq, page.archives.map((one) => one.object)]).toEqual([seq, [object]]);
    }
    const end = archived.at(-1)?.cursor ?? '';
    expect(resultOf(await work.changes(organization, end))).toMatchObject({ archives: [], changes: [{ seq: 5 }] });
    const [epoch, seq] = end.split('.');
    for (const other of [`${epoch}.${seq}.another-request`, `0123456789abcdef.2.r`, `${epoch}.6.r`])
      expect([other, failureOf(await work.changes(organization, other))]).toEqual([other, ['cursor_reset']]);

    await api.postNote(key);
    await releaseAll(organization);
    await archive(organization);
    const page = resultOf(await work.changes(organization, null, 1));
    expect(page.archives).toMatchObject([{ toSeq: 4 }]);
    expect(resultOf(await work.changes(organization, page.cursor)).archives).toMatchObject([{ fromSeq: 5, toSeq: 5 }]);
    expect((await everyChange(organization)).archived.map((change) => change.seq)).toEqual([1, 2, 3, 4, 5]);
  });

  test('an unreviewed entry leaves with its creation, and can be reviewed later, once', async () => {
    const { organization, key, api } = await makeWorld();
    await api.postTime(key, TIME, keyed('e'));
    await api.postNote(key);
    await releaseAll(organization);
    await archive(organization);
    const submitted = { status: 'SUBMITTED', minutes: TIME.minutes, description: { text: TIME.description } };
    const [, created] = (await everyChange(organization)).archived;
    expect(created).toMatchObject({ seq: 2, timeEntry: submitted });
    expect(await rowsOf('time_entries', organization)).toEqual([]);
    expect((await seen(api.postTime(key, TIME, keyed('e')))).body).toMatchObject({ entry: { status: 'SUBMITTED' } });

    const id = created?.targetId ?? '';
    expect(failureOf(await work.reviewTimeEntry(organization, id, 'APPROVED', 'tess'))).toEqual([
      'reviewer_not_eligible',
    ]);
    const decisions = await Promise.all(
      (['REJECTED', 'APPROVED'] as const).map((decision) => work.reviewTimeEntry(organization, id, decision, 'ada')),
    );
    expect(decisions.filter(({ ok }) => ok)).toHaveLength(1);
    const status = decisions[0]?.ok ? 'REJECTED' : 'APPROVED';
    const review = { action: `time_entry.${status.toLowerCase()}`, targetId: id, ticketId: '1001', timeEntry: null };
    expect((await everyChange(organization)).rows.slice(1)).toMatchObject([{ ...review, actor: { id: 'ada' } }]);
    const other = status === 'APPROVED' ? 'REJECTED' : 'APPROVED';
    const again = await work.reviewTimeEntry(organization, id, other, 'ada');
    expect(again).toMatchObject({
      error: { code: 'already_reviewed', detail: expect.stringMatching(`${status} by ada`) },
    });
    expect((await seen(api.postTime(key, TIME, keyed('e')))).body).toMatchObject({ entry: { status } });

    await api.postNote(key);
    await releaseAll(organization);
    await archive(organization);
    const { archived } = await everyChange(organization);
    expect(archived.filter(({ timeEntry }) => timeEntry).map(({ seq }) => seq)).toEqual([2]);
    expect(failureOf(await work.reviewTimeEntry(organization, id, other, 'ada'))).toEqual(['already_reviewed']);
  });
});

describe('a release', () => {
  test('a release only moves forward, and can be repeated', async () => {
    const { organization, key, api } = await makeWorld();
    await api.postNote(key);
    const [one = '', two = ''] = resultOf(await work.changes(organization, null)).changes.map(({ cursor }) => cursor);
    const release = async (cursor: string) => resultOf(await work.release(organization, cursor));
    expect(await release(one)).toEqual({ status: 'released', seq: 1 });
    expect(await release(one)).toEqual({ status: 'unchanged', seq: 1 });
    expect(await release(two)).toEqual({ status: 'released', seq: 2 });
    expect(await release(one)).toEqual({ status: 'unchanged', seq: 2 });
  });

  test('a release is refused for a foreign cursor, and adds no change', async () => {
    const { organization } = await makeWorld();
    const other = await makeWorld();
    const cursor = (await lastCursor(organization)) ?? '';
    const [epoch, , requestId] = cursor.split('.');
    expect(failureOf(await work.release(other.organization, cursor))).toEqual(['cursor_reset']);
    for (const wrong of [`${epoch}.1.r`, `${epoch}.2.${requestId}`, `0123456789abcdef.1.${requestId}`])
      expect(failureOf(await work.release(organization, wrong))).toEqual(['cursor_reset']);
    expect(failureOf(await work.release('unheard-of', cursor))).toEqual(['organization_not_found']);
    expect(failureOf(await work.release(organization, 'x'))).toEqual(['invalid', '/cursor invalid_format']);
    resultOf(await work.release(organization, cursor));
    expect(await lastCursor(organization)).toBe(cursor);
  });

  test('unreleased changes are not archived, and neither is the newest change', async () => {
    const { organization, key, api } = await makeWorld();
    for (let i = 0; i < 3; i++) await api.postNote(key);
    expect(await archive(organization)).toEqual({ status: 'nothing' });
    const [, , third] = resultOf(await work.changes(organization, null)).changes;
    resultOf(await work.release(organization, third?.cursor ?? ''));
    expect(await archive(organization)).toMatchObject({ fromSeq: 1, toSeq: 3 });
    expect(await archive(organization)).toEqual({ status: 'nothing' });
    await releaseAll(organization);
    expect(await archive(organization)).toEqual({ status: 'nothing' });
  });
});

describe('a step', () => {
  test('a redaction during a step restarts it', async () => {
    const { organization, key, api } = await makeWorld();
    const { body } = await seen(api.postNote(key, { message: 'hunter2' }));
    await api.postNote(key);
    await releaseAll(organization);
    const { id } = JSON.parse(JSON.stringify(body)).note;
    const redacting: ObjectStore = {
      ...bucket,
      put: async (...object) => {
        await bucket.put(...object);
        resultOf(await work.redactRecord(organization, 'note', id, 'Ada'));
      },
    };
    expect(await archive(organization, { archive: redacting })).toEqual({ status: 'refused' });
    expect(await archive(organization)).toMatchObject({ status: 'archived' });
    expect(await objectsIn(organization)).toHaveLength(1);
    // The redaction came after the archive: its row contains the note's stub.
    const { archived, rows } = await everyChange(organization);
    expect(JSON.stringify(archived)).not.toContain('hunter2');
    expect(rows.at(-1)).toMatchObject({
      action: 'note.redacted',
      note: { id, ticketId: '1001', message: { text: '[redacted]' } },
    });
  });
});

describe('the redaction of an archived record', () => {
  test.each(RECORD_KIND_NAMES)('removes the text of a %s from its object', async (kind) => {
    const { path, exampleBody, changeField, textField } = RECORD_KINDS[kind];
    const { organization, key, api } = await makeWorld();
    await api.post(`/api/v1/tickets/1001/${path}`, key, { ...exampleBody, [textField]: 'hunter2' });
    await api.postNote(key, NOTE);
    await releaseAll(organization);
    await archive(organization);
    const created = async () =>
      (await everyChange(organization)).archived.find(({ action }) => action === `${kind}.created`);
    const id = (await created())?.targetId ?? '';
    expect(await redactRecord(archiveContext(), { organization, kind, id, by: 'Ada' })).toEqual({ status: 'redacted' });
    expect(await created()).toMatchObject({ [changeField]: { id, [textField]: { text: '[redacted]' } } });
    const [name = ''] = await objectsIn(organization);
    expect(await gunzip((await bucket.get(name)) ?? new Uint8Array())).not.toContain('hunter2');
  });

  const redact = (organization: string, kind: 'note' | 'time_entry', id: string, bindings = {}) =>
    redactRecord(archiveContext(bindings), { organization, kind, id, by: 'Ada' });

  test('a redaction is refused by a deployment without the archive, which knows that the record is archived', async () => {
    const { organization, noteId, entryId } = await archivedWorld();
    const request = { organization, by: 'Ada' };
    for (const [kind, id] of [
      ['note', noteId],
      ['time_entry', entryId],
    ] as const) {
      const redaction = redactRecord(asOperator(), { ...request, kind, id });
      await expect(redaction).rejects.toMatchObject({ code: 'unavailable' });
    }
    const unknown = redactRecord(asOperator(), { ...request, kind: 'note', id: entryId });
    await expect(unknown).rejects.toMatchObject({ code: 'record_not_found' });
  });

  test('a redaction removes the text from the archive, and is audited', async () => {
    const { organization, key, api, object, noteId, entryId } = await archivedWorld();
    expect(await redact(organization, 'note', noteId)).toEqual({ status: 'redacted' });
    expect(await redact(organization, 'time_entry', entryId)).toEqual({ status: 'redacted' });
    for (const [kind, id] of [
      ['note', noteId],
      ['time_entry', entryId],
    ] as const)
      expect(await redact(organization, kind, id)).toEqual({ status: 'unchanged' });

    const objects = await objectsIn(organization);
    expect(objects).toHaveLength(1);
    expect(objects).not.toContain(object);
    const { archived, rows } = await everyChange(organization);
    expect(JSON.stringify(archived)).not.toMatch(/hunter[23]/);
    expect(archived.filter(({ timeEntry }) => timeEntry?.description.text === '[redacted]')).toHaveLength(1);
    expect(rows.slice(1)).toMatchObject([
      { action: 'note.redacted', ticketId: '1001', note: { id: noteId, message: { text: '[redacted]' } } },
      {
        action: 'time_entry.redacted',
        timeEntry: { id: entryId, status: 'APPROVED', description: { text: '[redacted]' } },
      },
    ]);
    // Without the digest, no replay is a mismatch.
    const replay = await api.postNote(key, { message: 'a guess' }, { ...keyed('n'), Prefer: 'handling=strict' });
    expect([replay.status, replay.headers.get('Idempotency-Mismatch')]).toEqual([200, null]);
  });

  test('two simultaneous redactions in one object remove both texts', async () => {
    const { organization, noteId, entryId } = await archivedWorld();
    const answers = await Promise.all([
      redact(organization, 'note', noteId),
      redact(organization, 'time_entry', entryId),
    ]);
    expect(answers).toEqual([{ status: 'redacted' }, { status: 'redacted' }]);
    expect(JSON.stringify((await everyChange(organization)).archived)).not.toMatch(/hunter[23]/);
    expect(await objectsIn(organization)).toHaveLength(1);
  });

  test('a redaction marks the record and reports an object that was changed or is missing', async () => {
    const { organization, noteId, entryId, object } = await archivedWorld();
    const original = (await bucket.get(object)) ?? new Uint8Array();
    await env.ARCHIVE.put(object, 'something else');
    expect(await redact(organization, 'note', noteId)).toEqual({ status: 'redacted', archive: 'damaged' });
    expect((await everyChange(organization, 'except damaged')).damaged).not.toEqual([]);
    await env.ARCHIVE.delete(object);
    expect(await redact(organization, 'note', noteId)).toEqual({ status: 'unchanged', archive: 'missing' });
    expect(loggedLines('archive_damaged')).toMatchObject([{ organization, object, damage: 'damaged' }]);
    const redactions = (await rowsOf('audit_log', organization)).filter(({ action }) => action === 'note.redacted');
    expect(redactions).toMatchObject([{ target_id: noteId, ticket_id: '1001' }]);
    // The object comes back as it was: the text is not read from it, and the next redaction removes it.
    await env.ARCHIVE.put(object, original);
    expect(JSON.stringify((await everyChange(organization)).archived)).not.toContain('hunter2');
    expect(await redact(organization, 'time_entry', entryId)).toEqual({ status: 'redacted' });
    for (const name of await objectsIn(organization))
      expect(await gunzip((await bucket.get(name)) ?? new Uint8Array())).not.toMatch(/hunter[23]/);
  });

  test('a redaction is refused while the bucket cannot be reached, and marks nothing', async () => {
    const { organization, noteId } = await archivedWorld();
    const away = { archive: failing(() => 'before') };
    await expect(redact(organization, 'note', noteId, away)).rejects.toMatchObject({ code: 'unavailable' });
    expect(JSON.stringify((await everyChange(organization)).archived)).toContain('hunter2');
  });
});

test('an archived record can be reported as refused, and then as taken', async () => {
  const { organization, key, api } = await makeWorld();
  const { note } = await (await api.postNote(key, NOTE)).json<{ note: { id: string } }>();
  // The newest change stays in the database.
  await api.postNote(key);
  await releaseAll(organization);
  expect(await archive(organization)).toMatchObject({ status: 'archived' });
  expect(await rowsOf('notes', organization)).not.toContainEqual(expect.objectContaining({ id: note.id }));
  const report = (result: 'refused' | 'taken') => work.report(organization, 'note', note.id, result, 'Closed.');
  expect(resultOf(await report('refused'))).toEqual({ status: 'recorded' });
  expect(resultOf(await report('taken'))).toEqual({ status: 'recorded' });
});
