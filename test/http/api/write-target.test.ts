import { expect, test } from 'vitest';
import { makeWorld, problemOf, rowsOf, TIME } from '../../support/world.ts';

test.each([
  ['empty', ''],
  ['256 characters long', 'x'.repeat(256)],
  ['two words', 'a b'],
  ['quoted on one side', '"abc'],
  ['not ASCII', 'ä'],
])('an Idempotency-Key is refused if it is %s', async (_, value) => {
  const { organization, key, api } = await makeWorld();
  const headers = { 'Idempotency-Key': value };
  for (const response of [api.postNote(key, undefined, headers), api.postTime(key, TIME, headers)])
    expect(await problemOf(response)).toBe('400 invalid_idempotency_key');
  expect(await rowsOf('notes', organization)).toEqual([]);
});
