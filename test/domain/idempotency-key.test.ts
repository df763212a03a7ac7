import { describe, expect, test } from 'vitest';
import { parseIdempotencyKey } from '../../src/domain/idempotency-key.ts';

describe('an Idempotency-Key', () => {
  test.each([
    ['abc', 'abc'],
    ['"abc"', 'abc'],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ['a"b', 'a"b'],
    ['flow:42,7', 'flow:42,7'],
    ['x'.repeat(255), 'x'.repeat(255)],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  ])('the header %j is read as %j', (header, key) => {
    expect(parseIdempotencyKey(header)).toEqual({ ok: true, key });
  });

  test('a request without the header has no key', () => {
    expect(parseIdempotencyKey(undefined)).toEqual({ ok: true, key: undefined });
  });
});
