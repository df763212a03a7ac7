import { describe, expect, test } from 'vitest';
import { ExpiringMap } from '../../src/lib/expiring-map.ts';

describe('a map whose entries expire', () => {
  test('removes the oldest entry when it is full', () => {
    const map = new ExpiringMap<number>(3);
    for (let i = 0; i < 10; i++) map.set(String(i), i, 100);
    expect(map.size).toBe(3);
    expect([map.get('6', 0), map.get('7', 0), map.get('9', 0)]).toEqual([undefined, 7, 9]);
    map.set('7', 70, 100);
    map.set('10', 10, 100);
    expect([map.get('7', 0), map.get('8', 0)]).toEqual([70, undefined]);
  });

  test('removes an entry at its time', () => {
    const map = new ExpiringMap<number>(3);
    map.set('a', 1, 100);
    expect(map.get('a', 99)).toBe(1);
    expect(map.get('a', 100)).toBeUndefined();
    expect(map.size).toBe(0);
  });
});
