import { expect, test } from 'vitest';
import * as z from 'zod';
import { DamagedData, parseStored, STORED_RECORDS } from '../../src/domain/stored-json.ts';

const note = { id: 'n', ticketId: '1001', createdAt: 1, message: 'Restarted the print spooler' };
const parseNote = (json: string) => parseStored(STORED_RECORDS.note, json, 'the note of change 12');

test('stored JSON is returned in its declared shape', () => {
  expect(parseNote(JSON.stringify(note))).toEqual(note);
  expect(parseStored(z.array(z.int()), '[1, 2]', 'the list')).toEqual([1, 2]);
});

test.each([
  ['a field of another type', { ...note, message: 7 }, '/message (invalid_type)'],
  [
    'a missing field',
    { ...note, createdAt: undefined, id: undefined },
    '/id (invalid_type), /createdAt (invalid_type)',
  ],
  ['another value', [note], '/ (invalid_type)'],
])('%s throws an error that references the field', (_, stored, fields) => {
  const parse = () => parseNote(JSON.stringify(stored));
  expect(parse).toThrow(DamagedData);
  expect(parse).toThrow(`the note of change 12 is damaged: ${fields}`);
});

test('a text that is not JSON throws an error that does not repeat it', () => {
  expect(() => parseNote('{"message": secret}')).toThrow(/^the note of change 12 is damaged: it is not JSON$/);
});
