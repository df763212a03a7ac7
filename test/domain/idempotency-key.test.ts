import { expect, test } from 'vitest';
import { parseIdempotencyKey } from '../../src/domain/idempotency-key.ts';

test.each([
  ['abc', 'abc'],
  ['"abc"', 'abc'],
  ['"a\\"b\\\\c"', 'a"b\\c'],
  ['a"b', 'a"b'],
  ['flow:42,7', 'flow:42,7'],
  ['x'.repeat(255), 'x'.repeat(255)],
  [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  [undefined, undefined],
])('the Idempotency-Key %j is read as %j', (header, key) => {
  expect(parseIdempotencyKey(header)).toEqual({ ok: true, key });
});
