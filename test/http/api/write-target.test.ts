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

  const SECRET = 'twb_'.length + 40;
  test.each([
    ['alone', (key: string) => key],
    ['quoted', (key: string) => `"${key}"`],
    ['in a longer text', (key: string) => `flow:${key}:1`],
    ['without its last character', (key: string) => key.slice(0, -1)],
    ['without its checksum', (key: string) => `flow:${key.slice(0, SECRET)}`],
    ['without its checksum and seven characters', (key: string) => key.slice(0, SECRET - 7)],
  ])('an API key %s is refused as an Idempotency-Key and stored nowhere', async (_, misuse) => {
    const { organization, key, api } = await makeWorld();
    const response = await api.postNote(key, undefined, { 'Idempotency-Key': misuse(key) });
    expect(await problemOf(response)).toBe('400 invalid_idempotency_key');
    expect(await rowsOf('notes', organization)).toEqual([]);
    expect(JSON.stringify(await rowsOf('audit_log', organization))).not.toContain(key.slice(0, SECRET - 7));
  });

  test('an Idempotency-Key may look like an API key', async () => {
    const { key, api } = await makeWorld();
    for (const value of [
      `other_${'x'.repeat(46)}`,
      `twb_${crypto.randomUUID().replaceAll('-', '')}`,
      'twb_invoice20418and20419',
    ]) {
      expect((await api.postNote(key, undefined, { 'Idempotency-Key': value })).status).toBe(201);
    }
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
