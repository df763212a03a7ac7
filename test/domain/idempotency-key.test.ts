import { expect, test } from 'vitest';
import { parseIdempotencyKey } from '../../src/domain/idempotency-key.ts';

test.each([
  ['abc', 'abc'],
  ['"abc"', 'abc'],
  ['"a\\"b\\\\c"', 'a"b\\c'],
  ['a"b', 'a"b'],
  ['flow:42,7', 'flow:42,7'],
  ['a,ab', 'a,ab'],
  ['ab,a', 'ab,a'],
  ['a,a,b', 'a,a,b'],
  ['a,a,ab', 'a,a,ab'],
  ['"a,a"', 'a,a'],
  ['x'.repeat(255), 'x'.repeat(255)],
  [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
  [undefined, undefined],
])('the Idempotency-Key %j is read as %j', (header, key) => {
  expect(parseIdempotencyKey(header)).toEqual({ ok: true, key });
});

test.each(['a,a', 'a, a', 'triage:1,triage:1', 'a,b,a,b', 'a, a, a', 'a,a,a', 'X1,X1,X1,X1,X1', ',,', '"a","a"', ','])(
  'the Idempotency-Key %s is refused: a proxy can join repeated headers in this way',
  (header) => {
    expect(parseIdempotencyKey(header).ok).toBe(false);
  },
);
