import { describe, expect, test } from 'vitest';
import { makeApi, makeWorld, rowsOf, UNLIMITED } from '../../support/world.ts';

const DEPTH = 100_000;
/** The documented limit, 512 KiB. */
const BODY_LIMIT = 524_288;
const nested = (open: string, close: string, times: number) => open.repeat(times) + close.repeat(times);
const time = (minutes: string) => `{"minutes":${minutes},"description":"x","billable":true}`;
const message = (json: string) => `{"message":${json}}`;
const bytes = (...parts: (string | number[])[]) =>
  new Uint8Array(parts.flatMap((part) => (typeof part === 'string' ? [...new TextEncoder().encode(part)] : part)));
const inMessage = (...units: number[]) => bytes('{"message":"', units, '"}');
const padded = (length: number) => `{"message":"a"}${' '.repeat(length - 15)}`;

const NOT_JSON = '400 malformed_json';
const NOT_UTF8 = '400 invalid_encoding';
const NO_OBJECT = '422  invalid_type';
const WRONG_MINUTES = '422 /minutes invalid_type';
const OUT_OF_RANGE = '422 /minutes out_of_range';

/**
 * Each body with its response: 201 and the stored text or minutes, a status and code, or 422 with
 * the fields and rules.
 */
const CASES: [what: string, body: string | Uint8Array, answer: string][] = [
  // RFC 8259 §4 leaves open which of two equal names counts. Here it is the last one, as in
  // JSON.parse.
  ['a name twice', '{"message":"a","message":"b"}', '201 b'],
  ['a name twice, once escaped', '{"message":"a","mess\\u0061ge":"b"}', '201 b'],
  ['a name twice, first with the wrong type', '{"message":1,"message":"b"}', '201 b'],
  ['a name twice, then with the wrong type', '{"message":"b","message":1}', '422 /message invalid_type'],
  ['an unknown name twice', '{"message":"a","x":1,"x":2}', '422 /x unknown_field'],

  ['100,000 nested lists', nested('[', ']', DEPTH), NO_OBJECT],
  ['100,000 lists without an end', '['.repeat(DEPTH), NOT_JSON],
  ['100,000 lists as the message', message(nested('[', ']', DEPTH)), '422 /message invalid_type'],
  [
    '80,000 nested objects',
    `${'{"a":'.repeat(80_000)}1${'}'.repeat(80_000)}`,
    '422 /message required, /a unknown_field',
  ],
  [
    '80,000 objects in an unknown field',
    `{"message":"a","x":${'{"a":'.repeat(80_000)}1${'}'.repeat(80_000)}}`,
    '422 /x unknown_field',
  ],
  [
    'a name of 400,000 characters',
    `{"message":"a","${'k'.repeat(400_000)}":1}`,
    `422 /${'k'.repeat(200)}… unknown_field`,
  ],

  ['1e999', time('1e999'), WRONG_MINUTES],
  ['-1e999', time('-1e999'), WRONG_MINUTES],
  ['400,000 digits', time('9'.repeat(400_000)), WRONG_MINUTES],
  ['above 2^53', time('9007199254740993'), OUT_OF_RANGE],
  ['1e-400', time('1e-400'), OUT_OF_RANGE],
  ['30.0', time('30.0'), '201 30'],
  ['3e1', time('3e1'), '201 30'],
  ['300E-1', time('300E-1'), '201 30'],
  ['30 and a fraction too small for a double', time('30.0000000000000000001'), '201 30'],
  ['[30]', time('[30]'), WRONG_MINUTES],
  ['030', time('030'), NOT_JSON],
  ['0x1e', time('0x1e'), NOT_JSON],
  ['+30', time('+30'), NOT_JSON],
  ['30.', time('30.'), NOT_JSON],
  ['.5', time('.5'), NOT_JSON],
  ['NaN', time('NaN'), NOT_JSON],
  ['Infinity', time('Infinity'), NOT_JSON],

  ['a byte order mark', bytes([0xef, 0xbb, 0xbf], message('"Straße 🖨"')), '201 Straße 🖨'],
  ['two byte order marks', bytes([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], message('"a"')), NOT_JSON],
  ['an overlong NUL', inMessage(0xc0, 0x80), NOT_UTF8],
  ['an incomplete character at the end of the body', bytes(message('"a"'), [0xe2, 0x82]), NOT_UTF8],
  ['surrogates in three bytes each (CESU-8)', inMessage(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80), NOT_UTF8],
  ['a character of five bytes', inMessage(0xf8, 0x88, 0x80, 0x80, 0x80), NOT_UTF8],
  ['a character that is cut off', inMessage(0xc3), NOT_UTF8],
  ['a byte that begins no character', inMessage(0xff), NOT_UTF8],
  ['a character beyond U+10FFFF', inMessage(0xf4, 0x90, 0x80, 0x80), NOT_UTF8],

  ['inherited fields', '{"__proto__":{"message":"a"}}', '422 /message required, /__proto__ unknown_field'],
  ['constructor', '{"message":"a","constructor":{"prototype":{"x":1}}}', '422 /constructor unknown_field'],
  ['toString', '{"message":"a","toString":1}', '422 /toString unknown_field'],
  ['an empty name', '{"message":"a","":1}', '422 / unknown_field'],
  ['a name with slash and tilde', '{"message":"a","a/b~c":1}', '422 /a~1b~0c unknown_field'],
  ['a name with half a character', '{"message":"a","\\ud800":1}', '422 /\uFFFD unknown_field'],
  ['a name that ends with NUL', '{"message\\u0000":"a"}', '422 /message required, /message\0 unknown_field'],

  ['a list of one body', '[{"message":"a"}]', NO_OBJECT],
  ['a number', '1', NO_OBJECT],
  ['true', 'true', NO_OBJECT],

  ['white space only', ' \r\n\t', NOT_JSON],
  ['white space around', ' \r\n\t{"message":"a"}\t\r\n ', '201 a'],
  ["white space that is not JSON's: U+000B", '\v{"message":"a"}', NOT_JSON],
  ["white space that is not JSON's: U+00A0", '\u00A0{"message":"a"}', NOT_JSON],
  ['more text after it', '{"message":"a"}x', NOT_JSON],
  ['NUL after it', '{"message":"a"}\0', NOT_JSON],
  ['two bodies', '{"message":"a"}{"message":"b"}', NOT_JSON],
  ['a comment after it', '{"message":"a"}//x', NOT_JSON],
  ['a comment inside', '{/*x*/"message":"a"}', NOT_JSON],
  ['a name without quotes', '{message:"a"}', NOT_JSON],
  ['NUL in a text', '{"message":"a\0b"}', NOT_JSON],
  ["an escape that is not JSON's", '{"message":"\\x41"}', NOT_JSON],

  ['the first half of a character, escaped', message('"a\\ud83d"'), '422 /message forbidden_character'],
  ['the second half', message('"\\ude00a"'), '422 /message forbidden_character'],
  ['both halves in the wrong order', message('"\\ude00\\ud83d"'), '422 /message forbidden_character'],
  ['both halves', message('"\\ud83d\\ude00"'), '201 😀'],
  ['control characters', message('"\\u0001\x7f"'), '201 \u0001\x7f'],
  ['unnecessary escapes', message('"\\u0061\\/\\""'), '201 a/"'],

  [`a body of exactly ${BODY_LIMIT} bytes`, padded(BODY_LIMIT), '201 a'],
  ['a body of one byte more', padded(BODY_LIMIT + 1), '413 body_too_large'],
  ['32,000 characters of four bytes each', message(`"${'😀'.repeat(32_000)}"`), `201 ${'😀'.repeat(32_000)}`],
  ['the same, escaped: 384,014 bytes', message(`"${'\\ud83d\\ude00'.repeat(32_000)}"`), `201 ${'😀'.repeat(32_000)}`],
];

describe('the body', async () => {
  const { organization, key } = await makeWorld();
  const api = makeApi({ config: UNLIMITED });

  test.each(CASES)('%s', async (_, body, answer) => {
    const kind = typeof body === 'string' && body.startsWith('{"minutes"') ? 'time-entries' : 'notes';
    const [table, column] = kind === 'notes' ? (['notes', 'message'] as const) : (['time_entries', 'minutes'] as const);
    const before = new Set((await rowsOf(table, organization)).map(({ id }) => id));
    const response = await api.post(`/api/v1/tickets/1001/${kind}`, key, body);
    const { code, errors = [] } = await response.json<{
      code?: string;
      errors?: { pointer: string; code: string }[];
    }>();
    const made = (await rowsOf(table, organization)).filter(({ id }) => !before.has(id)).map((row) => row[column]);
    const fields = errors.map(({ pointer, code }) => `${pointer} ${code}`).join(', ');
    expect(`${response.status} ${made.join()}${fields || (code ?? '')}`).toBe(answer);
  });
});
