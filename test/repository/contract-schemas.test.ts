import { Validator } from '@cfworker/json-schema';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { noteRequest } from '../../src/domain/record-kinds.ts';
import { API } from '../support/api-document.ts';
import { runs } from '../support/property.ts';

const schemas = z.record(z.string(), z.record(z.string(), z.json())).parse(API.components?.schemas);

describe('a text', () => {
  const schema = new Validator(schemas['NoteRequest'] ?? {}, '2020-12', false);
  const allows = (message: string) => schema.validate({ message }).valid;
  const accepts = (message: string) => noteRequest.safeParse({ message }).success;

  test.each([
    ['a\0b', false],
    ['\0', false],
    ['\0a', false],
    ['a\0', false],
    [' \0 ', false],
    [' \n\u00a0\ufeff', false],
    ['', false],
    [' a ', true],
    ['a\nb\n', true],
    ['\u0001\x7f', true],
    ['😀', true],
  ])('the document allows the same texts as the service: %j', (message, allowed) => {
    expect([accepts(message), allows(message)]).toEqual([allowed, allowed]);
  });

  test('the document allows the same texts as the service, for any text', () => {
    const piece = fc.constantFrom(...'\0 \n\t\u00a0\u3000\ufeffaß😀\u200b\u0085\x1c');
    const text = fc.oneof(
      fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')),
      fc.string({ unit: 'binary' }),
    );
    fc.assert(
      fc.property(text, (message) => {
        expect([message, allows(message)]).toEqual([message, accepts(message)]);
      }),
      { numRuns: runs('texts against the document', 1_000) },
    );
  });

  test('a text of 32,000 characters is checked in linear time, whatever its end is', () => {
    const started = performance.now();
    for (const unit of [' ', 'a', 'a ', ' a']) {
      for (const end of ['', '\0', ' ', '\0x']) allows(unit.repeat(32_000 / unit.length - 1) + end);
    }
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
