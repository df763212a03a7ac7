import { describe, expect, test } from 'vitest';
import { searchAuditLog } from '../../src/services/audit/read-audit-log.ts';
import { asAdmin, makeApi, makeKey, makeOrganization, rowsOf, TIME } from '../support/world.ts';

async function world() {
  const organization = await makeOrganization();
  const { value: key } = await makeKey(organization);
  return { organization, key, api: makeApi() };
}

describe('an Idempotency-Key with an empty event id', () => {
  test.each([
    'triage:',
    'triage:undefined',
    'triage/null',
    'NaN',
    '"triage:None"',
    'triage:[object Object]',
    'triage:{{eventId}}',
    'triage:{{ eventId }}',
    `triage:\${eventId}`,
  ])('the key is refused: %s', async (value) => {
    const { organization, key, api } = await world();
    for (const response of [
      await api.postNote(key, undefined, { 'Idempotency-Key': value }),
      await api.postTime(key, TIME, { 'Idempotency-Key': value }),
    ]) {
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        code: 'invalid_idempotency_key',
        detail: `Idempotency-Key was ${JSON.stringify(value)}: the event id in it came out empty; fill it from a field of the event that always has a value, or omit the header.`,
      });
    }
    expect(await rowsOf('notes', organization)).toEqual([]);
    expect(await rowsOf('time_entries', organization)).toEqual([]);
  });

  test('the error contains the key in truncated form', async () => {
    const { key, api } = await world();
    const response = await api.postNote(key, undefined, { 'Idempotency-Key': `${'x'.repeat(65_536)}:` });
    expect(response.status).toBe(400);
    expect((await response.text()).length).toBeLessThan(1_000);
  });
});

test('the search of the audit log finds records by their Idempotency-Key, with white space and quotes around it or not', async () => {
  const { organization, key, api } = await world();
  const response = await api.postNote(key, undefined, { 'Idempotency-Key': 'triage:evt-1' });
  const { note } = await response.json<{ note: { id: string } }>();
  for (const text of ['triage:evt-1', '"triage:evt-1"', ' triage:evt-1 ', note.id]) {
    expect([text, ((await searchAuditLog(asAdmin(organization), text)) ?? []).map(({ targetId }) => targetId)]).toEqual(
      [text, [note.id]],
    );
  }
});
