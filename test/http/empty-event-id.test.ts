import { describe, expect, test } from 'vitest';
import { makeApi, makeKey, makeOrganization, rowsOf, TIME } from '../support/world.ts';

async function world() {
  const organization = await makeOrganization();
  const { value: key } = await makeKey(organization);
  return { organization, key, api: makeApi() };
}

// test/domain/empty-event-id.test.ts has the values that are found.
describe('an Idempotency-Key with an empty event id', () => {
  test('the key is refused, and the error repeats it', async () => {
    const { organization, key, api } = await world();
    for (const value of ['triage:', '"triage:None"', 'triage:{{ eventId }}']) {
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
