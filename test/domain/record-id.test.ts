import { describe, expect, test } from 'vitest';
import { derivedId, timeOfId, timeOrderedId } from '../../src/domain/record-id.ts';

describe('a record id', () => {
  test('record ids sort by time', () => {
    const id = timeOrderedId(Date.parse('2026-11-21T00:00:00Z'));
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(Date.parse('2026-11-21T00:00:00Z'));
  });

  test('a record id can be derived from organization, kind and Idempotency-Key', async () => {
    const id = await derivedId('northwind', 'note', 'k');
    // Another value would write every repeated record a second time.
    expect(id).toBe('8feb98de-e8bb-8b31-8a6d-1bc2fac5826f');
    const others = [
      await derivedId('fabrikam', 'note', 'k'),
      await derivedId('northwind', 'time_entry', 'k'),
      await derivedId('northwind', 'note', 'K'),
    ];
    expect(new Set([id, ...others]).size).toBe(4);
  });
});

test('only a version 7 id contains its time', () => {
  const id = timeOrderedId(1_795_000_000_123);
  expect(timeOfId(id)).toBe(1_795_000_000_123);
  for (const other of ['', 'triage:1', '0e7b8f5e-1b4d-4c3a-9f63-2a6d3a8c9b10']) expect(timeOfId(other)).toBeUndefined();
});
