import { expect, test } from 'vitest';
import { makeWorld, rowsOf, TIME } from '../../support/world.ts';

// test/domain/idempotency-key.test.ts and test/domain/empty-event-id.test.ts have the values that are found.
test.each([
  ['is empty', ''],
  ['is 256 characters long', 'x'.repeat(256)],
  ['contains a space or a character that is not visible ASCII, or was sent more than once', 'a b'],
  ['contains a space or a character that is not visible ASCII, or was sent more than once', 'ä'],
  ['begins with a quote but is not a single quoted string', '"abc'],
  ['was "triage:": the event id in it came out empty; fill it from a field of the event', 'triage:'],
  ['was "\\"triage:None\\"": the event id in it came out empty', '"triage:None"'],
  ['was "xxx', `${'x'.repeat(65_536)}:`],
])('an Idempotency-Key is refused, and the short error says that it %s', async (rule, value) => {
  const { organization, key, api } = await makeWorld();
  const headers = { 'Idempotency-Key': value };
  for (const response of [await api.postNote(key, undefined, headers), await api.postTime(key, TIME, headers)]) {
    expect(response.status).toBe(400);
    const { code, detail } = await response.json<{ code: string; detail: string }>();
    expect(code).toBe('invalid_idempotency_key');
    expect(detail.slice(0, `Idempotency-Key ${rule}`.length)).toBe(`Idempotency-Key ${rule}`);
    expect(detail.length).toBeLessThan(1_000);
  }
  for (const table of ['notes', 'time_entries'] as const) expect(await rowsOf(table, organization)).toEqual([]);
});
