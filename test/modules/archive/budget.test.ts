import { expect, test } from 'vitest';
import { makeLastOrganization } from '../../support/last-organization.ts';
import { resultOf, work } from '../../support/rpc.ts';
import { makeCountedApi, makeWorld, NOTE, rowsOf, TIME } from '../../support/world.ts';
import { archive, releaseAll } from './support.ts';

const readsOf = (calls: { rowsRead: number }[]) => calls.reduce((sum, { rowsRead }) => sum + rowsRead, 0);

test('after an archive, a write reads as many rows, and a replay of an archived record writes none', async () => {
  const { organization, key, keyId } = await makeWorld();
  const { key: plain } = await makeWorld();
  const [note, entry] = [{ 'Idempotency-Key': 'archived-note' }, { 'Idempotency-Key': 'archived-entry' }];
  const { api, d1 } = makeCountedApi();
  await api.postNote(key, NOTE, note);
  await api.postTime(key, TIME, entry);
  await makeLastOrganization(organization, keyId);
  const [{ id } = { id: '' }] = await rowsOf('time_entries', organization);
  resultOf(await work.reviewTimeEntry(organization, String(id), 'APPROVED', 'ada'));
  resultOf(await work.report(organization, 'time_entry', String(id), 'refused', 'Closed'));
  await api.postNote(key);
  await releaseAll(organization);
  expect(await archive(organization)).toMatchObject({ status: 'archived' });
  /** What a request costs, also in an organization without an archive. */
  const bill = async (post: (value: string) => Promise<Response>) => {
    const rows: { read: number; written: number[] }[] = [];
    for (const value of [plain, key]) {
      await api.postNote(value);
      d1.length = 0;
      await post(value);
      rows.push({ read: readsOf(d1), written: d1.map(({ rowsWritten }) => rowsWritten) });
    }
    return rows;
  };
  const [newNote, archivedOrganization] = await bill((value) => api.postNote(value));
  // The stubs of archived records add nothing to the rows that a write reads.
  expect(archivedOrganization).toEqual(newNote);
  const [newEntry, sameEntry] = await bill((value) => api.postTime(value));
  expect(sameEntry).toEqual(newEntry);

  for (const replay of [() => api.postNote(key, NOTE, note), () => api.postTime(key, TIME, entry)]) {
    d1.length = 0;
    expect((await replay()).status).toBe(200);
    expect(d1.map(({ statements, rowsWritten }) => [statements, rowsWritten])).toEqual([
      [3, 0],
      [1, 0],
    ]);
    expect(readsOf(d1)).toBeLessThanOrEqual(32);
  }
});
