import { exports } from 'cloudflare:workers';
import { describe, expect, test } from 'vitest';
import { makeWorld, problemOf, rowsOf, TIME } from '../../support/world.ts';

describe('an Idempotency-Key', () => {
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

  test('an Idempotency-Key that is sent twice is refused', async () => {
    const { key } = await makeWorld();
    const headers = new Headers({ Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' });
    headers.append('Idempotency-Key', 'a');
    headers.append('Idempotency-Key', 'a');
    const response = await exports.default.fetch('https://api.example/api/v1/tickets/1001/notes', {
      method: 'POST',
      headers,
      body: '{"message":"x"}',
    });
    expect(response.status).toBe(400);
  });
});
