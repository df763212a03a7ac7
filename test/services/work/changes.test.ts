import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { changeKeyRules } from '../../../src/services/keys/change-key-rules.ts';
import { listChanges } from '../../../src/services/work/list-changes.ts';
import { countD1 } from '../../support/d1.ts';
import { allChanges, failureOf, lastCursor, resultOf, work } from '../../support/psa-calls.ts';
import {
  asAdmin,
  makeApi,
  makeKey,
  makeOrganization,
  makeWorld,
  NO_KEY_RULES,
  revoke,
  rotate,
  TIME,
} from '../../support/world.ts';

test('a change contains its record, its key, and texts as plain text', async () => {
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
      approvals: 'settings',
      userId: 'automation',
    },
  });
  expect(revoked).toMatchObject({
    action: 'api_key.revoked',
    key: { id: key.id, revokedAt: expect.stringMatching(/Z$/) },
  });
});

test("a rotation's changes contain the other key", async () => {
  const organization = await makeOrganization();
  const old = await makeKey(organization);
  await rotate(organization, old.id, { grace: '1h' });

  const [, rotated, created] = await allChanges(organization);
  const successorId = created?.targetId;
  expect(rotated).toMatchObject({
    action: 'api_key.rotated',
    detail: { mediaType: 'text/plain', text: expect.stringContaining(String(created?.key?.hint)) },
    key: { id: old.id, successorId },
  });
  expect(created).toMatchObject({ action: 'api_key.created', key: { id: successorId, successorId: null } });
  await makeApi().postNote(old.value);
  expect((await allChanges(organization)).at(-1)).toMatchObject({ action: 'note.created', detail: null });
});

test('a change of the key rules contains no key', async () => {
  const organization = await makeOrganization();
  await changeKeyRules(asAdmin(organization), 0, { ...NO_KEY_RULES, maxLifetimeDays: 30 });
  expect(await allChanges(organization)).toMatchObject([
    { action: 'key_rules.changed', targetId: organization, key: null },
  ]);
});

test('a change with an unknown action on a key contains the key', async () => {
  const organization = await makeOrganization();
  const key = await makeKey(organization);
  await env.DB.prepare(
    `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id)
     values (?, 2, 0, 'user', 'ada', 'Ada', 'api_key.paused', ?, 'r')`,
  )
    .bind(organization, key.id)
    .run();
  expect((await allChanges(organization))[1]).toMatchObject({ action: 'api_key.paused', key: { id: key.id } });
});

test('reading can continue after every change', async () => {
  const { organization, key, api } = await makeWorld();
  for (let i = 0; i < 4; i++) await api.postNote(key);
  const changes = await allChanges(organization);
  for (const [index, { cursor }] of changes.entries()) {
    const page = resultOf(await work.changes(organization, cursor, 2));
    expect(page.changes.map(({ seq }) => seq)).toEqual(changes.slice(index + 1, index + 3).map(({ seq }) => seq));
    expect(page.more).toBe(page.changes.length === 2);
    expect(page.cursor).toBe(page.changes.at(-1)?.cursor ?? cursor);
  }
});

test('a new organization has no changes and no cursor', async () => {
  expect(await work.changes(await makeOrganization(), null)).toEqual({
    ok: true,
    value: { changes: [], cursor: null, more: false },
  });
});

test('a page reads no more rows in a long log than in a short one', async () => {
  const { organization, key, api } = await makeWorld();
  const rowsRead = async () => {
    const { db, calls } = countD1(env.DB);
    const ctx = { db, now: Date.now, deadlineAt: Date.now() + 10_000, requestId: 'r' };
    await listChanges(ctx, { organization, cursor: null, limit: 5 });
    return calls.reduce((rows, call) => rows + call.rowsRead, 0);
  };
  for (let i = 0; i < 5; i++) await api.postNote(key);
  const short = await rowsRead();
  for (let i = 0; i < 60; i++) await api.postTime(key);
  expect(await rowsRead()).toBe(short);
  expect(short).toBeLessThanOrEqual(3 + 3 * 5);
});

test('an unknown organization and the cursor of another organization are errors', async () => {
  expect(failureOf(await work.changes('unheard-of', null))).toEqual(['organization_not_found']);
  const [one, other] = [await makeWorld(), await makeWorld()];
  const cursor = await lastCursor(one.organization);
  expect(failureOf(await work.changes(other.organization, cursor))).toEqual(['cursor_reset']);
});

test('a cursor whose position is missing or belongs to another row, such as after a restore, is an error', async () => {
  const { organization, key, api } = await makeWorld();
  await api.postNote(key);
  const cursor = (await lastCursor(organization)) ?? '';
  const [epoch, , requestId] = cursor.split('.');
  expect(resultOf(await work.changes(organization, cursor)).changes).toEqual([]);
  for (const other of [`${epoch}.2.another-request`, `${epoch}.3.${requestId}`, `0123456789abcdef.2.${requestId}`])
    expect([other, failureOf(await work.changes(organization, other))]).toEqual([other, ['cursor_reset']]);
});
