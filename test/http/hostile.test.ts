import { env, exports } from 'cloudflare:workers';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { generateKey } from '../../src/domain/api-key.ts';
import type { Change } from '../../src/domain/change.ts';
import { readContract } from '../support/contract.ts';
import { countD1 } from '../support/d1.ts';
import { anyText, headerValue, rowCounts, Tally } from '../support/hostile.ts';
import { countLimiters } from '../support/limiter.ts';
import { runs } from '../support/property.ts';
import { makeApi, makeKey, makeOrganization, revoke, rowsOf } from '../support/world.ts';

const UNLIMITED = { quota: 10_000, windowMs: 1_000 };
const unlimited = { ipLimit: UNLIMITED, keyLimit: UNLIMITED };

/** An organization and a key of its own. */
async function makeWorld() {
  const organization = await makeOrganization();
  return { organization, key: (await makeKey(organization)).value };
}

type Json = Record<string, unknown>;
type Kind = 'notes' | 'time-entries';

// --- any request -----------------------------------------------------------------------------------------------------------------

const text = fc.oneof(
  { weight: 12, arbitrary: anyText },
  { weight: 2, arbitrary: anyText.map((any) => `\r\n ${any}x${any} \t`) },
  {
    weight: 1,
    arbitrary: fc.tuple(anyText, fc.nat(40_000)).map(([any, times]) => `x${any}`.repeat(times).slice(0, 70_000)),
  },
  { weight: 1, arbitrary: fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)), maxLength: 20 }) },
);

const valid: fc.Arbitrary<{ kind: Kind; body: Json; text: string }> = fc.oneof(
  text.map((text) => ({ kind: 'notes' as const, body: { message: text }, text })),
  fc
    .record({
      minutes: fc.integer({ min: 1, max: 1440 }),
      text,
      billable: fc.boolean(),
      userEmail: fc.constantFrom(undefined, 'TESS@Northwind.Example'),
    })
    .map(({ text, ...others }) => ({ kind: 'time-entries' as const, body: { ...others, description: text }, text })),
);

/** The same JSON in other bytes: as it is, in ASCII alone, spread over lines behind a byte order mark. */
const encoder = fc.constantFrom<(value: unknown) => string>(
  (value) => JSON.stringify(value),
  (value) =>
    JSON.stringify(value).replace(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  (value) => `\uFEFF\r\n${JSON.stringify(value, null, '\t')}\n`,
);

/** What one request does otherwise than a valid one. */
interface Mutation {
  body?: (body: Json) => unknown;
  json?: (json: string) => string | Uint8Array;
  headers?: Record<string, string>;
  path?: string;
  method?: string;
}

const fieldName = fc.oneof(
  fc.constantFrom('message', 'minutes', 'description', 'billable', 'userEmail', '__proto__', ''),
  anyText,
);
const otherBody = fc.oneof(
  fieldName.map((name) => (body: Json) => Object.fromEntries(Object.entries(body).filter(([field]) => field !== name))),
  fc.tuple(fieldName, fc.jsonValue()).map(
    ([name, value]) =>
      (body: Json) =>
        Object.fromEntries([...Object.entries(body), [name, value]]),
  ),
  fc.constant((body: Json) => [body]),
);
const snippet = fc.oneof(fc.constantFrom('{', '}', '"', ',', ':', '\\', '\0', '\n', 'e9', '-', '[', '/**/'), anyText);
const otherJson: fc.Arbitrary<(json: string) => string | Uint8Array> = fc.oneof(
  fc.tuple(fc.nat(), fc.nat(3), snippet).map(([at, length, insert]) => (json: string) => {
    const start = at % (json.length + 1);
    return json.slice(0, start) + insert + json.slice(start + length);
  }),
  fc.tuple(fc.nat(), fc.nat(255)).map(([at, byte]) => (json: string) => {
    const bytes = new TextEncoder().encode(json);
    bytes[at % bytes.length] = byte;
    return bytes;
  }),
  fc.oneof(fc.json(), fc.string(), fc.uint8Array()).map((noise) => () => noise),
);
const otherHeaders = fc
  .oneof(
    fc.tuple(
      fc.constant('Idempotency-Key'),
      fc.oneof(fc.constantFrom('a', '"a"', 'b'), fc.string({ minLength: 1, maxLength: 300 }), headerValue),
    ),
    fc.tuple(fc.constantFrom('Content-Type', 'Content-Encoding', 'Authorization'), headerValue),
    fc.tuple(
      fc.constant('Content-Type'),
      fc
        .tuple(fc.constantFrom('application/json', 'APPLICATION/JSON', 'text/json'), headerValue)
        .map(([type, rest]) => `${type};${rest}`),
    ),
    fc.tuple(
      fc.constantFrom('User-Agent', 'CF-Connecting-IP', 'X-Forwarded-For', 'X-Request-Id', 'Range', 'Cookie', 'Origin'),
      headerValue,
    ),
  )
  .map(([name, value]) => ({ [name]: value }));
const otherPath = fc.oneof(
  anyText.map((ticket) => `/api/v1/tickets/${encodeURIComponent(ticket.toWellFormed())}/notes`),
  fc.tuple(fc.constantFrom('/', '/api', '/api/v1/', '/api/v1/tickets/'), anyText).map(([start, rest]) => start + rest),
  fc
    .constantFrom('%', '%zz', '%00', '%ff', '%2e%2e', '..', '%2F', '', '1001/..', '1001%0a', ' 1001')
    .map((id) => `/api/v1/tickets/${id}/notes`),
);

/** Valid requests with at most one thing changed, so that a good part gets deep. */
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  { weight: 3, arbitrary: otherBody.map((body) => ({ body })) },
  { weight: 5, arbitrary: otherJson.map((json) => ({ json })) },
  { weight: 4, arbitrary: otherHeaders.map((headers) => ({ headers })) },
  { weight: 2, arbitrary: otherPath.map((path) => ({ path })) },
  { weight: 1, arbitrary: fc.constantFrom('PUT', 'PATCH', 'DELETE', 'OPTIONS').map((method) => ({ method })) },
);

/** What the contract says of a text. */
function isAcceptable(text: string): boolean {
  const length = Array.from(text.trim()).length;
  return length >= 1 && length <= 32_000 && text.isWellFormed() && !text.includes('\0');
}

/** What the database must hold after the body was taken. */
function parse(body: string | Uint8Array): Json {
  return JSON.parse(typeof body === 'string' ? body.replace(/^\uFEFF/, '') : new TextDecoder().decode(body));
}

const codePoints = (text: unknown) => Array.from(String(text), (point) => point.codePointAt(0));

test('whatever is sent with a good key: no 5xx, nothing written unless 201, and every text is stored and handed on as it was sent', async () => {
  const { organization, key } = await makeWorld();
  const d1 = countD1(env.DB);
  const api = makeApi({ config: unlimited, bindings: { DB: d1.db } });
  const contract = readContract(await (await api.send('/api/v1/openapi.json')).text());
  const tally = new Tally();
  const stored = new Map<string, string>();

  await fc.assert(
    fc.asyncProperty(valid, encoder, mutation, async ({ kind, body, text }, encode, mutation) => {
      const json = encode(mutation.body ? mutation.body(body) : body);
      const sent = mutation.json ? mutation.json(json) : json;
      const { path, method = 'POST' } = mutation;
      // What is recorded of a mismatched replay is written behind the answer.
      await api.settled();
      const before = await rowCounts();
      d1.calls.length = 0;
      const response = await api.send(path ?? `/api/v1/tickets/1001/${kind}`, {
        method,
        key,
        body: sent,
        headers: { 'Content-Type': 'application/json', ...mutation.headers },
      });
      const { status } = response;
      expect(d1.calls.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0)).toBe(
        status !== 201 ? 0 : kind === 'notes' ? 4 : 3,
      );
      tally.add(status);
      expect([200, 201, 400, 401, 404, 405, 413, 415, 422]).toContain(status);
      if (Object.keys(mutation).length === 0) expect(status).toBe(isAcceptable(text) ? 201 : 422);
      if (path === undefined && method === 'POST') {
        expect(await contract.undocumented(`POST /tickets/{ticketId}/${kind}`, response)).toEqual([]);
      }
      const answer = await response.text();
      expect(answer.length).toBeLessThan(16_000);

      const { note, entry } = status === 201 ? JSON.parse(answer) : {};
      const added: Record<string, number> = note
        ? { notes: 1, audit_log: 1 }
        : entry
          ? { time_entries: 1, audit_log: 1 }
          : {};
      const { refused_uses: _, ...after } = await rowCounts();
      for (const [table, count] of Object.entries(after))
        expect([table, count - (before[table] ?? 0)]).toEqual([table, added[table] ?? 0]);
      if (status !== 201) return;

      const { id } = note ?? entry;
      const meant = parse(sent);
      const row = await env.DB.prepare(
        `select * from ${note ? 'notes' : 'time_entries'} where organization_id = ? and id = ?`,
      )
        .bind(organization, id)
        .first();
      const meantText = String(meant[note ? 'message' : 'description']);
      expect(codePoints(row?.[note ? 'message' : 'description'])).toEqual(codePoints(meantText));
      if (entry) expect(entry).toMatchObject({ minutes: meant['minutes'], billable: meant['billable'] });
      stored.set(id, meantText);
    }),
    { numRuns: runs('hostile requests', 400) },
  );
  tally.print('hostile requests by status');
  expect(tally.of(201)).toBeGreaterThan(75);
  expect(tally.of(400)).toBeGreaterThan(25);
  expect(tally.of(422)).toBeGreaterThan(50);

  // The PSA gets each of them as it was sent.
  const records = (await allChanges(organization)).flatMap(({ note, timeEntry }) => note ?? timeEntry ?? []);
  const read = new Map(
    records.map((record) => [record.id, ('message' in record ? record.message : record.description).text]),
  );
  for (const [id, text] of stored) expect(codePoints(read.get(id))).toEqual(codePoints(text));
}, 600_000);

async function allChanges(organization: string): Promise<Change[]> {
  const all: Change[] = [];
  let cursor: string | null = null;
  for (let more = true; more; ) {
    const page: Awaited<ReturnType<typeof exports.Work.changes>> = await exports.Work.changes(organization, cursor);
    if (!page.ok) throw new Error(page.error.detail);
    all.push(...page.value.changes);
    ({ cursor, more } = page.value);
  }
  return all;
}

// --- JSON, to the letter and beyond it -------------------------------------------------------------------------------------------

const DEPTH = 100_000;
/** 512 KiB, as documented. */
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

/** Each body with its one answer: 201 and the text or minutes that were stored, or status and code, of a 422 the fields and rules. */
const TORTURE: [what: string, body: string | Uint8Array, answer: string][] = [
  // RFC 8259 §4 leaves open which of two equal names counts. Here it is the last, as in JSON.parse and nearly everywhere else.
  ['a name twice', '{"message":"a","message":"b"}', '201 b'],
  ['a name twice, once escaped', '{"message":"a","mess\\u0061ge":"b"}', '201 b'],
  ['a name twice, first with the wrong type', '{"message":1,"message":"b"}', '201 b'],
  ['a name twice, then with the wrong type', '{"message":"b","message":1}', '422 /message invalid_type'],
  ['an unknown name twice', '{"message":"a","x":1,"x":2}', '422 /x unknown_field'],

  ['100,000 lists in one another', nested('[', ']', DEPTH), NO_OBJECT],
  ['100,000 lists that never end', '['.repeat(DEPTH), NOT_JSON],
  ['100,000 lists as the message', message(nested('[', ']', DEPTH)), '422 /message invalid_type'],
  [
    '80,000 objects in one another',
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
  ['beyond 2^53', time('9007199254740993'), OUT_OF_RANGE],
  ['-0', time('-0'), OUT_OF_RANGE],
  ['1e-400', time('1e-400'), OUT_OF_RANGE],
  ['30.0', time('30.0'), '201 30'],
  ['3e1', time('3e1'), '201 30'],
  ['300E-1', time('300E-1'), '201 30'],
  ['30 and a fraction below what a double holds', time('30.0000000000000000001'), '201 30'],
  ['30.5', time('30.5'), WRONG_MINUTES],
  ['1441', time('1441'), OUT_OF_RANGE],
  ['"30"', time('"30"'), WRONG_MINUTES],
  ['[30]', time('[30]'), WRONG_MINUTES],
  ['null', time('null'), WRONG_MINUTES],
  ['030', time('030'), NOT_JSON],
  ['0x1e', time('0x1e'), NOT_JSON],
  ['+30', time('+30'), NOT_JSON],
  ['30.', time('30.'), NOT_JSON],
  ['.5', time('.5'), NOT_JSON],
  ['NaN', time('NaN'), NOT_JSON],
  ['Infinity', time('Infinity'), NOT_JSON],

  ['a byte order mark', bytes([0xef, 0xbb, 0xbf], message('"a"')), '201 a'],
  ['two byte order marks', bytes([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], message('"a"')), NOT_JSON],
  [
    'UTF-16 with a byte order mark',
    new Uint8Array([0xff, 0xfe, ...bytes('{}')].flatMap((byte) => [byte, 0])),
    NOT_UTF8,
  ],
  ['UTF-16 without', new Uint8Array([...bytes(message('"a"'))].flatMap((byte) => [byte, 0])), NOT_UTF8],
  ['Latin-1', inMessage(0xe9), NOT_UTF8],
  ['an overlong slash', inMessage(0xc0, 0xaf), NOT_UTF8],
  ['an overlong NUL', inMessage(0xc0, 0x80), NOT_UTF8],
  ['a character cut short', inMessage(0xe2, 0x82), NOT_UTF8],
  ['a character cut short at the end of the body', bytes(message('"a"'), [0xe2, 0x82]), NOT_UTF8],
  ['surrogates in three bytes each (CESU-8)', inMessage(0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80), NOT_UTF8],
  ['a character of five bytes', inMessage(0xf8, 0x88, 0x80, 0x80, 0x80), NOT_UTF8],
  ['a character beyond U+10FFFF', inMessage(0xf4, 0x90, 0x80, 0x80), NOT_UTF8],

  ['__proto__', '{"message":"a","__proto__":{"x":1}}', '422 /__proto__ unknown_field'],
  ['fields to inherit', '{"__proto__":{"message":"a"}}', '422 /message required, /__proto__ unknown_field'],
  ['constructor', '{"message":"a","constructor":{"prototype":{"x":1}}}', '422 /constructor unknown_field'],
  ['toString', '{"message":"a","toString":1}', '422 /toString unknown_field'],
  ['an empty name', '{"message":"a","":1}', '422 / unknown_field'],
  ['a name with slash and tilde', '{"message":"a","a/b~c":1}', '422 /a~1b~0c unknown_field'],
  ['a name with half a character', '{"message":"a","\\ud800":1}', '422 /\uFFFD unknown_field'],
  ['a name that ends with NUL', '{"message\\u0000":"a"}', '422 /message required, /message\0 unknown_field'],
  ['a name in capitals', '{"Message":"a"}', '422 /message required, /Message unknown_field'],

  ['a list', '[]', NO_OBJECT],
  ['a list of one body', '[{"message":"a"}]', NO_OBJECT],
  ['a text', '"a"', NO_OBJECT],
  ['a number', '1', NO_OBJECT],
  ['null', 'null', NO_OBJECT],
  ['true', 'true', NO_OBJECT],

  ['nothing', '', NOT_JSON],
  ['white space only', ' \r\n\t', NOT_JSON],
  ['white space around', ' \r\n\t{"message":"a"}\t\r\n ', '201 a'],
  ['white space that JSON does not know: U+000B', '\v{"message":"a"}', NOT_JSON],
  ['white space that JSON does not know: U+00A0', '\u00A0{"message":"a"}', NOT_JSON],
  ['something behind it', '{"message":"a"}x', NOT_JSON],
  ['NUL behind it', '{"message":"a"}\0', NOT_JSON],
  ['two bodies', '{"message":"a"}{"message":"b"}', NOT_JSON],
  ['a comma too many', '{"message":"a",}', NOT_JSON],
  ['a comment behind it', '{"message":"a"}//x', NOT_JSON],
  ['a comment inside', '{/*x*/"message":"a"}', NOT_JSON],
  ['single quotes', "{'message':'a'}", NOT_JSON],
  ['a name without quotes', '{message:"a"}', NOT_JSON],
  ['a line break in a text', '{"message":"a\nb"}', NOT_JSON],
  ['NUL in a text', '{"message":"a\0b"}', NOT_JSON],
  ['an escape that JSON does not know', '{"message":"\\x41"}', NOT_JSON],
  ['a form', 'message=a', NOT_JSON],

  ['NUL, escaped', message('"a\\u0000b"'), '422 /message forbidden_character'],
  ['the first half of a character, escaped', message('"a\\ud83d"'), '422 /message forbidden_character'],
  ['the second half', message('"\\ude00a"'), '422 /message forbidden_character'],
  ['both halves in the wrong order', message('"\\ude00\\ud83d"'), '422 /message forbidden_character'],
  ['both halves', message('"\\ud83d\\ude00"'), '201 😀'],
  ['control characters', message('"\\u0001\x7f"'), '201 \u0001\x7f'],
  ['escapes for the plainest characters', message('"\\u0061\\/\\""'), '201 a/"'],

  [`a body of exactly ${BODY_LIMIT} bytes`, padded(BODY_LIMIT), '201 a'],
  ['and of one byte more', padded(BODY_LIMIT + 1), '413 body_too_large'],
  ['32,000 characters of four bytes each', message(`"${'😀'.repeat(32_000)}"`), `201 ${'😀'.repeat(32_000)}`],
  ['the same, escaped: 384,014 bytes', message(`"${'\\ud83d\\ude00'.repeat(32_000)}"`), `201 ${'😀'.repeat(32_000)}`],
  ['one character more', message(`"${'😀'.repeat(32_001)}"`), '422 /message too_long'],
];

describe('JSON', async () => {
  const { organization, key } = await makeWorld();
  const api = makeApi({ config: unlimited });

  test.each(TORTURE)('%s', async (_, body, answer) => {
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

  test('30,000 unknown fields are refused with the first 20 of them', async () => {
    const names = Array.from({ length: 30_000 }, (_, index) => `"field${index}":1`);
    const response = await api.postNote(key, `{"message":"a",${names}}`);
    expect(response.status).toBe(422);
    expect((await response.json<{ errors: unknown[] }>()).errors).toHaveLength(20);
  });
});

// --- how a body comes ------------------------------------------------------------------------------------------------------------

describe('a body', async () => {
  const { organization, key } = await makeWorld();
  const api = makeApi({ config: unlimited });
  const pieces = ['{"message":', '"slow"}'].map((piece) => new TextEncoder().encode(piece));
  const post = (body: ReadableStream, by = key) =>
    api.send('/api/v1/tickets/1001/notes', {
      method: 'POST',
      key: by,
      body,
      headers: { 'Content-Type': 'application/json' },
    });
  /** The first piece of a body, and then what `rest` does. */
  const begun = (rest: (controller: ReadableStreamDefaultController) => void | Promise<void>) => {
    let pulls = 0;
    return new ReadableStream({
      pull: (controller) => {
        pulls += 1;
        return pulls === 1 ? controller.enqueue(pieces[0]) : rest(controller);
      },
    });
  };

  afterEach(() => {
    vi.useRealTimers();
  });

  test('that breaks off is the caller’s fault: 400, nothing is written, and no error is logged', async () => {
    const logged = vi.spyOn(console, 'error');
    const response = await post(begun((controller) => controller.error(new Error('Network connection lost.'))));
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: 'malformed_json',
      detail: 'The body was cut off; send the complete request again.',
    });
    expect(await rowsOf('notes', organization)).toEqual([]);
    expect(logged).not.toHaveBeenCalled();
    logged.mockRestore();
  });

  test('that does not end is waited for 20 s', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const waiting = Promise.withResolvers<void>();
    const endless = begun(() => {
      waiting.resolve();
      return new Promise(() => undefined);
    });
    const answer = post(endless);
    await waiting.promise;
    await vi.advanceTimersByTimeAsync(20_000);
    const response = await answer;
    expect(response.status).toBe(400);
    expect((await response.json<{ detail: string }>()).detail).toBe(
      'The body did not arrive within 20 s; send the complete request again.',
    );
    expect(await rowsOf('notes', organization)).toEqual([]);
  });

  test('that takes longer than a request may without it is written all the same', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const slow = begun((controller) => {
      vi.setSystemTime(Date.now() + 15_000);
      controller.enqueue(pieces[1]);
      controller.close();
    });
    expect((await post(slow)).status).toBe(201);
    expect(await rowsOf('notes', organization)).toMatchObject([{ message: 'slow' }]);
  });

  test('that is slow and then breaks off is the caller’s fault, also where a remembered key has to be confirmed', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const broken = begun((controller) => {
      vi.setSystemTime(Date.now() + 15_000);
      controller.error(new Error('gone'));
    });
    const response = await post(broken);
    expect([response.status, (await response.json<{ code: string }>()).code]).toEqual([400, 'malformed_json']);
  });

  test.each(['read for it', 'remembered'])(
    'that comes after the revocation of its key, which was %s, is 401 whatever it is',
    async (how) => {
      for (const rest of ['"a"}', '""}', 'a']) {
        const doomed = await makeKey(organization);
        if (how === 'remembered') expect((await api.postNote(doomed.value)).status).toBe(201);
        const body = begun(async (controller) => {
          await revoke(organization, doomed.id);
          controller.enqueue(new TextEncoder().encode(rest));
          controller.close();
        });
        expect((await post(body, doomed.value)).status).toBe(401);
      }
    },
  );
});

// --- headers ---------------------------------------------------------------------------------------------------------------------

describe('headers', async () => {
  const { organization, key } = await makeWorld();
  const api = makeApi({ config: unlimited });
  const note = (headers: Record<string, string>) => api.postNote(key, { message: 'a' }, headers);
  const codeOf = async (response: Response) => (await response.json<{ code?: string }>()).code;

  test.each([
    ['two good keys', `Bearer ${key}, Bearer ${key}`],
    ['a good key and another scheme', `Bearer ${key}, Basic eDp5`],
    ['two schemes for one key', `Bearer Bearer ${key}`],
    ['a good key and more', `Bearer ${key} x`],
    ['a key in quotes', `Bearer "${key}"`],
    ['a percent-encoded key', `Bearer ${key.replace('_', '%5F')}`],
    ['a tab for the space', `Bearer\t${key}`],
    ['100,000 spaces and no key', `Bearer ${' '.repeat(100_000)}x`],
    ['a value of 64 KiB', `Bearer twb_${'a'.repeat(65_536)}`],
    ['nothing', ''],
  ])('Authorization with %s is 401', async (_, Authorization) => {
    expect((await note({ Authorization })).status).toBe(401);
  });

  test.each([
    ['sent twice', 'a, a'],
    ['sent twice, once empty', ', a'],
    ['empty', ''],
    ['an empty quoted text', '""'],
    ['a quote that does not end', '"a'],
    ['two quoted texts', '"a","b"'],
    ['with a space in it', 'a b'],
    ['with a tab in it', 'a\tb'],
    ['256 characters long', 'a'.repeat(256)],
    ['64 KiB long', 'a'.repeat(65_536)],
  ])('an Idempotency-Key %s is refused by name', async (_, value) => {
    expect(await codeOf(await note({ 'Idempotency-Key': value }))).toBe('invalid_idempotency_key');
  });

  test.each(['x'.repeat(255), `"${'y'.repeat(255)}"`, 'a,b', '__proto__', '%00', "';--", '../..', '{}'])(
    'an Idempotency-Key %s makes one note and one replay',
    async (value) => {
      const answers = [await note({ 'Idempotency-Key': value }), await note({ 'Idempotency-Key': value })];
      expect(answers.map(({ status }) => status)).toEqual([201, 200]);
    },
  );

  test.each([
    ['application/json', 201],
    ['APPLICATION/JSON; Charset="UTF-8"', 201],
    ['application/json ;charset=utf-8;', 201],
    ['application/json;odata.metadata=minimal', 201],
    ['application/json; charset=utf-16', 415],
    ['application/json; charset =utf-16', 415],
    ['application/json; charset=utf-8; charset=utf-16', 415],
    ['application/json; charset=', 415],
    ['application/json, application/json', 415],
    ['application/json/x', 415],
    ['application/jsonp', 415],
    ['application/problem+json', 415],
    ['text/json', 415],
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['*/*', 415],
    ['', 415],
  ])('Content-Type %s: %i', async (type, status) => {
    expect((await note({ 'Content-Type': type })).status).toBe(status);
  });

  test('a Content-Type of 64 KiB is read like any other, and repeated in part', async () => {
    expect((await note({ 'Content-Type': `application/json; x=${'y'.repeat(65_536)}` })).status).toBe(201);
    const response = await note({ 'Content-Type': 'y'.repeat(65_536) });
    expect(response.status).toBe(415);
    expect((await response.text()).length).toBeLessThan(1_000);
  });

  test.each(['gzip', 'br', 'identity, gzip', 'deflate', 'x'])(
    'Content-Encoding %s is refused: nothing is unpacked here',
    async (encoding) => {
      expect(await codeOf(await note({ 'Content-Encoding': encoding }))).toBe('unsupported_media_type');
    },
  );

  test('no header but CF-Connecting-IP says where a request comes from; without a good one all share a group', async () => {
    const limiters = countLimiters(env.RATE_LIMITER);
    const api = makeApi({ config: unlimited, bindings: { RATE_LIMITER: limiters.namespace } });
    const group = async (headers: Record<string, string>) => {
      limiters.names.length = 0;
      expect((await api.send('/api/v1/ping', { headers })).status).toBe(401);
      return limiters.names.join();
    };
    const spoofed = {
      'X-Forwarded-For': '198.51.100.1',
      'X-Real-IP': '198.51.100.2',
      'True-Client-IP': '198.51.100.3',
      Forwarded: 'for=198.51.100.4',
      'X-Client-IP': '198.51.100.5',
      'CF-Connecting-IPv6': '2001:db8:ffff::1',
      'X-Cluster-Client-IP': '198.51.100.6',
    };
    expect(await group({ 'CF-Connecting-IP': '192.0.2.9', ...spoofed })).toBe('ip:192.0.2.9');
    // On Cloudflare the header is always there, once, and the platform's. Elsewhere, whatever is no address counts as one address.
    for (const garbage of [
      '',
      '192.0.2.1, 192.0.2.2',
      '192.0.2.256',
      '<script>',
      'x'.repeat(65_536),
      '192.0.2.1:80',
      '192.0.2.0/24',
    ]) {
      expect(await group({ 'CF-Connecting-IP': garbage, ...spoofed })).toBe('ip:none');
    }
    await api.postNote(key, { message: 'a' }, { 'CF-Connecting-IP': '192.0.2.9', ...spoofed });
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({ source_address: '192.0.2.9' });
  });

  test('no header makes another request of it', async () => {
    const harmless: Record<string, string>[] = [
      { 'X-HTTP-Method-Override': 'DELETE' },
      { 'X-HTTP-Method': 'GET' },
      { 'X-Original-URL': '/api/v1/ping', 'X-Rewrite-URL': '/settings' },
      { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'http' },
      { Range: 'bytes=0-1', 'If-Range': '"x"' },
      { 'If-None-Match': '*' },
      { 'If-Match': '"x"' },
      { 'If-Modified-Since': 'Sat, 21 Nov 2099 00:00:00 GMT' },
      { Expect: '100-continue' },
      { TE: 'trailers', Trailer: 'Authorization' },
      { Upgrade: 'websocket', Connection: 'Upgrade' },
      { Accept: 'text/html', 'Accept-Encoding': 'x', 'Accept-Charset': 'utf-16', 'Accept-Language': '../../etc' },
      { Cookie: `Authorization=Bearer ${key}; ${'x'.repeat(65_536)}` },
      { 'X-Request-Id': 'mine', 'X-Organization-Id': 'org-2', 'X-Api-Key': generateKey('twb') },
      { 'Cf-Access-Jwt-Assertion': 'x.y.z' },
    ];
    for (const headers of harmless) {
      const response = await note(headers);
      expect([headers, response.status, response.headers.get('Content-Type')]).toEqual([
        headers,
        201,
        'application/json',
      ]);
      expect(response.headers.get('X-Request-Id')).not.toBe('mine');
    }
  });

  test('a page of another origin gets nothing: no answer allows one, and its preflight is a request without a key', async () => {
    const foreign = {
      Origin: 'https://evil.example',
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization',
    };
    const path = '/api/v1/tickets/1001/notes';
    const answers = [
      await api.send(path, { method: 'OPTIONS', headers: foreign }),
      await note(foreign),
      await api.send('/api/v1/openapi.json', { headers: foreign }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 201, 200]);
    for (const { headers } of answers)
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test('a User-Agent is kept to its hundredth character', async () => {
    await note({ 'User-Agent': `<b>${'x'.repeat(65_536)}` });
    expect((await rowsOf('audit_log', organization)).at(-1)).toMatchObject({ user_agent: `<b>${'x'.repeat(97)}` });
  });
});
