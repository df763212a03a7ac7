import { expect, test } from 'vitest';
import { allChanges, failureOf, work } from '../../support/psa-calls.ts';
import { makeOrganization, makeWorld, rowsOf, TIME } from '../../support/world.ts';

test('the text of a note and of a time entry is replaced everywhere, once, and audited', async () => {
  const { organization, key, api } = await makeWorld();
  await api.postNote(key, { message: 'the password is hunter2' });
  await api.postTime(key, { ...TIME, description: 'hunter2' });
  const [, note, entry] = await allChanges(organization);
  const noteId = note?.targetId ?? '';
  const entryId = entry?.targetId ?? '';

  const redacted = { ok: true, value: { status: 'redacted' } };
  expect(await work.redactRecord(organization, 'note', noteId, 'Ada, ticket 77')).toEqual(redacted);
  expect(await work.redactRecord(organization, 'time_entry', entryId, 'Ada')).toEqual(redacted);
  const unchanged = { ok: true, value: { status: 'unchanged' } };
  expect(await work.redactRecord(organization, 'note', noteId, 'Ada')).toEqual(unchanged);

  const [, ...changes] = await allChanges(organization);
  expect(changes).toMatchObject([
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
  const { organization, key, api } = await makeWorld();
  await api.postNote(key);
  const [, note] = await allChanges(organization);
  const other = await makeOrganization();
  expect(failureOf(await work.redactRecord(other, 'note', note?.targetId ?? '', 'Ada'))).toEqual(['record_not_found']);
});
