import { expect, test } from 'vitest';
import { makeWorld, rowsOf, TIME } from '../../support/world.ts';

// test/domain/idempotency-key.test.ts and test/domain/empty-event-id.test.ts have the values that are found.
test.each([
  ['', 'is empty'],
  ['x'.repeat(256), 'is 256 characters long'],
  ['a b', 'contains a space or a character that is not visible ASCII, or was sent more than once'],
  ['ä', 'contains a space or a character that is not visible ASCII, or was sent more than once'],
  ['"abc', 'begins with a quote but is not a single quoted string'],
  ['triage:', 'was "triage:": the event id in it came out empty; fill it from a field of the event'],
  ['"triage:None"', 'was "\\"triage:None\\"": the event id in it came out empty'],
  [`${'x'.repeat(65_536)}:`, 'was "xxx'],
])('the Idempotency-Key %.20s is refused, and the error says in short that it %s', async (value, rule) => {
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
