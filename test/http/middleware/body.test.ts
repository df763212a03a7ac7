import { describe, expect, test } from 'vitest';
import { apiContract } from '../../support/static-files.ts';
import { fieldErrorsOf, makeWorld, problemOf, rowsOf, TIME } from '../../support/world.ts';

const contract = await apiContract();

describe('an invalid note', () => {
  test.each<[string, unknown, string]>([
    ['nothing in it', {}, '/message required'],
    ['null', { message: null }, '/message invalid_type'],
    ['a number', { message: 5 }, '/message invalid_type'],
    ['an empty text', { message: '' }, '/message too_short'],
    ['white space only', { message: ' \t\n\u00a0\u2003\ufeff' }, '/message too_short'],
    ['32,001 characters', { message: 'x'.repeat(32_001) }, '/message too_long'],
    ['32,001 characters outside the basic plane', { message: '𝕬'.repeat(32_001) }, '/message too_long'],
    ['NUL', { message: 'a𝕬\0b' }, '/message forbidden_character'],
    ['a lone surrogate', '{"message":"a𝕬\\ud800b"}', '/message forbidden_character'],
    ['an unknown field', { message: 'x', internal: false }, '/internal unknown_field'],
    ['a field in capitals', { Message: 'x' }, '/message required, /Message unknown_field'],
    ['a text for the body', '"message"', ' invalid_type'],
    ['null for the body', 'null', ' invalid_type'],
  ])('a note with %s is refused with its fields and rules', async (_, body, errors) => {
    const { organization, key, api } = await makeWorld();
    const response = await api.postNote(key, body);
    expect(await problemOf(response.clone())).toBe('422 validation_failed');
    expect((await fieldErrorsOf(response)).join(', ')).toBe(errors);
    expect(await rowsOf('notes', organization)).toEqual([]);
  });

  test.each([
    ['NUL', { message: 'a𝕬\0b' }],
    ['a lone surrogate', '{"message":"a𝕬\\ud800b"}'],
  ])('the error for a note with %s shows where the character is', async (_, body) => {
    const { key, api } = await makeWorld();
    expect((await (await api.postNote(key, body)).json<{ detail: string }>()).detail).toMatch(/\b3\b/);
  });
});

describe('an invalid time entry', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['minutes as text', { minutes: '30' }, '/minutes invalid_type'],
    ['0 minutes', { minutes: 0 }, '/minutes out_of_range'],
    ['-0 minutes', { minutes: -0 }, '/minutes out_of_range'],
    ['1441 minutes', { minutes: 1441 }, '/minutes out_of_range'],
    ['1.5 minutes', { minutes: 1.5 }, '/minutes invalid_type'],
    ['true for minutes', { minutes: true }, '/minutes invalid_type'],
    ['null for minutes', { minutes: null }, '/minutes invalid_type'],
    ['no minutes', { minutes: undefined }, '/minutes required'],
    ['billable as text', { billable: 'true' }, '/billable invalid_type'],
    ['1 for billable', { billable: 1 }, '/billable invalid_type'],
    ['no billable', { billable: undefined }, '/billable required'],
    ['no description', { description: undefined }, '/description required'],
    ['an empty userEmail', { userEmail: '' }, '/userEmail invalid_format'],
    ['a userEmail that is no address', { userEmail: 'tess' }, '/userEmail invalid_format'],
    ['a field of the response', { hourlyRate: 500 }, '/hourlyRate unknown_field'],
    ['another field of the response', { status: 'APPROVED' }, '/status unknown_field'],
    ['a user id', { userId: 'tess' }, '/userId unknown_field'],
  ])('a time entry with %s is refused with its field and rule, and by the document', async (_, change, error) => {
    const { organization, key, api } = await makeWorld();
    const body = JSON.parse(JSON.stringify({ ...TIME, ...change }));
    expect(contract.allows('POST /tickets/{ticketId}/time-entries', body)).toBe(false);
    const response = await api.postTime(key, body);
    expect(await problemOf(response.clone())).toBe('422 validation_failed');
    expect(await fieldErrorsOf(response)).toEqual([error]);
    expect(await rowsOf('time_entries', organization)).toEqual([]);
  });

  test.each([
    [{ minutes: '30' }, '30'],
    [{ minutes: '030' }, '30'],
    [{ billable: 'true' }, 'true'],
  ])('the error for %j proposes the value without quotes', async (change, proposed) => {
    const { key, api } = await makeWorld();
    const { detail } = await (await api.postTime(key, { ...TIME, ...change })).json<{ detail: string }>();
    expect(detail).toMatch(new RegExp(`\\b${proposed} without quotes`));
  });
});

test('null for userEmail is as if the field were left out, also for a retry', async () => {
  const { organization, key, api } = await makeWorld();
  const retry = { 'Idempotency-Key': 'retry' };
  expect(contract.allows('POST /tickets/{ticketId}/time-entries', { ...TIME, userEmail: null })).toBe(true);
  const first = await api.postTime(key, { ...TIME, userEmail: null }, retry);
  expect(await first.json()).toMatchObject({ entry: { userId: 'automation' } });
  const second = await api.postTime(key, TIME, retry);
  expect([first.status, second.status, second.headers.get('Idempotency-Mismatch')]).toEqual([201, 200, null]);
  expect(await rowsOf('time_entries', organization)).toHaveLength(1);
});

describe('the errors of a body', () => {
  test('all errors are listed, and the first one is the detail', async () => {
    const { key, api } = await makeWorld();
    const problem = await (await api.postTime(key, { minutes: 'x', hourlyRate: 1 })).json<{
      detail: string;
      errors: { pointer: string; detail: string }[];
    }>();
    const pointers = problem.errors.map(({ pointer }) => pointer).sort();
    expect(pointers).toEqual(['/billable', '/description', '/hourlyRate', '/minutes']);
    expect(problem.detail).toContain(problem.errors[0]?.detail);
    expect(problem.detail).toMatch(/\b3\b/);
  });

  test('at most 20 errors are listed, with escaped pointers', async () => {
    const { key, api } = await makeWorld();
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`field/${i}~`, i]));
    const errors = await fieldErrorsOf(api.postNote(key, many));
    expect(errors).toHaveLength(20);
    expect(errors[1]).toBe('/field~10~0 unknown_field');
  });
});

describe('a body that is not JSON', () => {
  test.each([
    ['{"message": "x",}', /\b1\b.*\b17\b.*"}"/],
    ["{'message': 'x'}", /\b1\b.*\b2\b.*"'"/],
    ['{\n  "message": "a\nb"\n}', /\b2\b.*\b16\b.*"\\n"/],
    ['{\n  "message": Done,\n  "x": true\n}', /\b2\b.*\b14\b.*"D"/],
    ['{"message": 030}', /\b1\b.*\b14\b.*"3"/],
    ['message=x', /\b1\b.*\b1\b.*"m"/],
    ['🖨', /\b1\b.*\b1\b.*"🖨"/],
    [`{"message": "${'x'.repeat(65_536)}" "`, /\b65536\b/],
    ['{"message": "x"', /JSON/],
    ['[[[[', /JSON/],
    ['', /empty/],
    ['[object Object]', /"\[object Object\]"/],
    ['undefined', /"undefined"/],
  ])('the body is refused, and the error shows the place: %j', async (body, place) => {
    const { key, api } = await makeWorld();
    const response = await api.postNote(key, body);
    expect(await problemOf(response.clone())).toBe('400 malformed_json');
    expect(await response.json()).toMatchObject({ detail: expect.stringMatching(place) });
  });
});

describe('the media type', () => {
  test.each([
    ['text/plain', 'text/plain'],
    ['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded'],
    ['application/vnd.api+json', 'application/vnd.api+json'],
    ['application/json; charset=iso-8859-1', 'iso-8859-1'],
    ['', 'Content-Type'],
  ])('the media type %j is refused, and the error contains it', async (type, named) => {
    const { key, api } = await makeWorld();
    const response = await api.postNote(key, { message: 'x' }, { 'Content-Type': type });
    expect(await problemOf(response.clone())).toBe('415 unsupported_media_type');
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining(named) });
  });

  test.each([
    ["application/json; charset='utf-8'", "Content-Type has the charset 'utf-8'; encode"],
    ['application/json; charset=', 'Content-Type has an empty charset; encode'],
    ['application/json; charset', 'Content-Type has an empty charset; encode'],
  ])('the error for %s shows the charset, and to leave it out', async (type, start) => {
    const { key, api } = await makeWorld();
    const response = await api.postNote(key, { message: 'x' }, { 'Content-Type': type });
    expect([response.status, await response.json()]).toMatchObject([
      415,
      { detail: `${start} the body as UTF-8, and send application/json without a charset.` },
    ]);
    expect((await api.postNote(key, { message: 'ä' }, { 'Content-Type': 'application/json' })).status).toBe(201);
  });

  test.each(['us-ascii', 'US-ASCII', '"us-ascii"', 'utf-8', 'utf8', 'UTF-8'])(
    'the charset %s is accepted, because its bytes are UTF-8',
    async (charset) => {
      const { organization, key, api } = await makeWorld();
      const type = { 'Content-Type': `application/json; charset=${charset}` };
      expect((await api.postNote(key, '{"message":"\\u00e4"}', type)).status).toBe(201);
      expect(await rowsOf('notes', organization)).toMatchObject([{ message: 'ä' }]);
    },
  );

  test.each([
    ['gzip', 'gzip'],
    ['utf-8', 'utf-8'],
    ['UTF-8', 'utf-8'],
    ['', 'empty'],
  ])('the Content-Encoding %j is refused, and the error says to remove the header', async (encoding, named) => {
    const { key, api } = await makeWorld();
    const response = await api.postNote(key, { message: 'x' }, { 'Content-Encoding': encoding });
    expect(await problemOf(response.clone())).toBe('415 unsupported_media_type');
    const remedy = 'remove this header, and send the body uncompressed.';
    expect(await response.json()).toMatchObject({ detail: `Content-Encoding was ${named}; ${remedy}` });
  });
});
