import { env } from 'cloudflare:workers';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText, headerValue, rowCounts, Tally } from '../../support/hostile.ts';
import { inLongRuns, runs } from '../../support/property.ts';
import { allChanges } from '../../support/psa-calls.ts';
import { apiContract } from '../../support/static-files.ts';
import { makeCountedApi, makeWorld, UNLIMITED } from '../../support/world.ts';

type Json = Record<string, unknown>;
type Kind = 'notes' | 'time-entries';

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

/**
 * Encodings of the same JSON: compact, in ASCII only, and over several lines after a byte order
 * mark.
 */
const encoder = fc.constantFrom<(value: unknown) => string>(
  (value) => JSON.stringify(value),
  (value) =>
    JSON.stringify(value).replace(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  (value) => `\uFEFF\r\n${JSON.stringify(value, null, '\t')}\n`,
);

/** How a request differs from a valid one. */
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

/** Valid requests with at most one change, so that many of them pass the first checks. */
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  { weight: 3, arbitrary: otherBody.map((body) => ({ body })) },
  { weight: 5, arbitrary: otherJson.map((json) => ({ json })) },
  { weight: 4, arbitrary: otherHeaders.map((headers) => ({ headers })) },
  { weight: 2, arbitrary: otherPath.map((path) => ({ path })) },
  { weight: 1, arbitrary: fc.constantFrom('PUT', 'PATCH', 'DELETE', 'OPTIONS').map((method) => ({ method })) },
);

/** Whether the contract accepts a text. */
function isAcceptable(text: string): boolean {
  const length = Array.from(text.trim()).length;
  return length >= 1 && length <= 32_000 && text.isWellFormed() && !text.includes('\0');
}

/** The values that the database must hold if the body is accepted. */
function parse(body: string | Uint8Array): Json {
  return JSON.parse(typeof body === 'string' ? body.replace(/^\uFEFF/, '') : new TextDecoder().decode(body));
}

const codePoints = (text: unknown) => Array.from(String(text), (point) => point.codePointAt(0));

test('no request with a good key gets a 5xx or writes anything without a 201, and texts are stored and passed on unchanged', async () => {
  const { organization, key } = await makeWorld();
  const { api, d1 } = makeCountedApi({ config: UNLIMITED });
  const contract = await apiContract();
  const tally = new Tally();
  const stored = new Map<string, string>();

  await fc.assert(
    fc.asyncProperty(valid, encoder, mutation, async ({ kind, body, text }, encode, mutation) => {
      const json = encode(mutation.body ? mutation.body(body) : body);
      const sent = mutation.json ? mutation.json(json) : json;
      const { path, method = 'POST' } = mutation;
      // A mismatched replay is recorded after its response.
      await api.settled();
      const before = await rowCounts(organization);
      d1.length = 0;
      const response = await api.send(path ?? `/api/v1/tickets/1001/${kind}`, {
        method,
        key,
        body: sent,
        headers: { 'Content-Type': 'application/json', ...mutation.headers },
      });
      const { status } = response;
      expect(d1.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0)).toBe(status === 201 ? 5 : 0);
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
      const { refused_uses: _, refused_requests: __, ...after } = await rowCounts(organization);
      for (const [table, count] of Object.entries(after))
        expect([table, count - (before[table] ?? 0)]).toEqual([table, added[table] ?? 0]);
      if (status !== 201) return;

      const { id } = note ?? entry;
      const expected = parse(sent);
      const row = await env.DB.prepare(
        `select * from ${note ? 'notes' : 'time_entries'} where organization_id = ? and id = ?`,
      )
        .bind(organization, id)
        .first();
      const expectedText = String(expected[note ? 'message' : 'description']);
      expect(codePoints(row?.[note ? 'message' : 'description'])).toEqual(codePoints(expectedText));
      if (entry) expect(entry).toMatchObject({ minutes: expected['minutes'], billable: expected['billable'] });
      stored.set(id, expectedText);
    }),
    { numRuns: runs('hostile requests', inLongRuns(400, 120)) },
  );
  tally.print('hostile requests by status');
  expect(tally.of(201)).toBeGreaterThan(35);
  expect(tally.of(400)).toBeGreaterThan(12);
  expect(tally.of(422)).toBeGreaterThan(25);

  // The change feed has each text as it was sent.
  const records = (await allChanges(organization)).flatMap(({ note, timeEntry }) => note ?? timeEntry ?? []);
  const read = new Map(
    records.map((record) => [record.id, ('message' in record ? record.message : record.description).text]),
  );
  for (const [id, text] of stored) expect(codePoints(read.get(id))).toEqual(codePoints(text));
}, 600_000);
