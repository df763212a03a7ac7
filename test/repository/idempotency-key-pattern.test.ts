import { Validator } from '@cfworker/json-schema';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { hasEmptyEventId, parseIdempotencyKey } from '../../src/domain/idempotency-key.ts';
import { API } from '../support/api-document.ts';
import { WITH_EVENT_ID, WITHOUT_EVENT_ID } from '../support/idempotency-keys.ts';
import { runs } from '../support/property.ts';

const parameters = z.array(
  z.object({ name: z.string(), required: z.boolean().optional(), schema: z.record(z.string(), z.json()) }),
);

/** What the document says of the header, for each write. */
const schemas = Object.values(API.paths ?? {}).flatMap((path) =>
  parameters
    .parse(path.post?.parameters ?? [])
    .filter(({ name }) => name === 'Idempotency-Key')
    .map(({ schema }) => schema),
);
const allows = (header: string) =>
  schemas.every((schema) => new Validator(schema, '2020-12', false).validate(header).valid);
const isTwice = (text: string) => {
  const values = text.split(',');
  const half = values.length / 2;
  const isOneValue = new Set(values).size === 1;
  return values.length > 1 && (isOneValue || values.slice(0, half).join() === values.slice(half).join());
};
const accepts = (header: string) => parseIdempotencyKey(header).ok && !hasEmptyEventId(header);

describe('the Idempotency-Key in the document', () => {
  test('the header is described for both writes and their dry runs', () => {
    expect(schemas).toHaveLength(4);
  });

  test.each<[string, boolean]>([
    ['triage:evt-20418', true],
    ['triage:evt-20418:2', true],
    ['"abc"', true],
    ['"a\\"b\\\\c"', true],
    ['a"b', true],
    ["'", true],
    ['x'.repeat(255), true],
    ['', false],
    ['""', false],
    ['"', false],
    ['"abc', false],
    ['"a"b"', false],
    ['"a\\b"', false],
    ['"a\\"', false],
    ['a b', false],
    ['a, a', false],
    ['"a", "a"', false],
    ['\x01', false],
    ['\x7f', false],
    ['ä', false],
    ['x'.repeat(256), false],
    ...WITHOUT_EVENT_ID.map((key): [string, boolean] => [key, false]),
    ...WITHOUT_EVENT_ID.map((key): [string, boolean] => [`"${key}"`, false]),
    ...WITH_EVENT_ID.map((key): [string, boolean] => [key, true]),
  ])('the pattern allows the keys that the service accepts: %s', (header, allowed) => {
    expect([accepts(header), allows(header)]).toEqual([allowed, allowed]);
  });

  test('the pattern never allows a key that the service refuses, and allows all accepted keys except long quoted ones; it cannot tell one value sent twice', () => {
    const piece = fc.constantFrom(...'"\\:/{}[]<>()$%#@-_.,?2afsx é', '[object', 'null', 'NaN', 'None', 'undefined');
    const header = fc.oneof(
      fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join('')),
      fc.array(piece, { maxLength: 8 }).map((pieces) => `"${pieces.join('')}"`),
      fc.string({ maxLength: 12 }),
      fc.string({ maxLength: 12 }).map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`),
      fc.integer({ min: 250, max: 260 }).map((length) => 'k'.repeat(length)),
      fc.integer({ min: 250, max: 260 }).map((length) => `"${'k'.repeat(length)}"`),
    );
    fc.assert(
      fc.property(
        header.filter((text) => text === text.trim() && !isTwice(text)),
        (text) => {
          const isLongQuoted = text.startsWith('"') && text.length > 255;
          expect([text, allows(text)]).toEqual([text, accepts(text) && !isLongQuoted]);
        },
      ),
      { numRuns: runs('Idempotency-Keys against the document', 3_000) },
    );
  });
});
