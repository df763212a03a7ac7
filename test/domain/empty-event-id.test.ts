import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasEmptyEventId, parseIdempotencyKey } from '../../src/domain/idempotency-key.ts';
import { WITH_EVENT_ID, WITHOUT_EVENT_ID } from '../support/idempotency-keys.ts';
import { inLongRuns, runs } from '../support/property.ts';

describe('an Idempotency-Key with an empty event id', () => {
  test.each(WITHOUT_EVENT_ID)('the key is detected, quoted or not: %s', (key) => {
    expect([hasEmptyEventId(key), hasEmptyEventId(`"${key.trim()}"`)]).toEqual([true, true]);
  });

  test.each(WITH_EVENT_ID)('the key is not detected, quoted or not: %s', (key) => {
    expect([hasEmptyEventId(key), hasEmptyEventId(`"${key}"`)]).toEqual([false, false]);
  });

  test('the detection takes linear time', () => {
    const pieces = [':', '[object', '":', ':[object', '{', '$', '}', 'undefined', '"/[object"', ' ', '"', 'a', 'abcd:'];
    const more = ['::', 'g::2', ':null', ':null:null-', '-undefined:2', ':$a', '$a-', '%a', '{a', '<a', '${a.', '%s:2'];
    const evil = [...pieces, ...more].map((piece) => piece.repeat(16_384 / piece.length));
    const started = performance.now();
    for (const value of evil) {
      for (const end of ['x', '!', '\n', '::2!']) hasEmptyEventId(`${value}${end}`);
      hasEmptyEventId(`"${value}`);
    }
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  test('the key can still be parsed, so that a search finds older records', () => {
    expect(parseIdempotencyKey('triage:')).toEqual({ ok: true, key: 'triage:' });
    expect(parseIdempotencyKey('"triage:undefined"')).toEqual({ ok: true, key: 'triage:undefined' });
  });
});

const BASE64URL = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'];
const CROCKFORD = [...'0123456789ABCDEFGHJKMNPQRSTVWXYZ'];
const HEX = [...'0123456789abcdef'];
const BASE62 = BASE64URL.slice(0, 62);
const of = (alphabet: string[], minLength: number, maxLength = minLength) =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength, maxLength });

/** The ids that tools give events, executions, messages and rows. */
const TOOL_ID = fc.oneof(
  fc.uuid(),
  fc.uuid().map((id) => id.toUpperCase()),
  fc.uuid().map((id) => `{${id}}`),
  fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String),
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  // ULID, KSUID, nanoid, MongoDB, and digests.
  of(CROCKFORD, 26),
  of(BASE62, 27),
  of(BASE64URL, 8, 64),
  of(BASE64URL, 8, 64).map((id) => `${id}==`),
  of(HEX, 1, 128),
  of(HEX, 1, 128).map((id) => `sha256-${id}`),
  // Prefixed, as of Stripe, Slack and Airtable.
  fc.tuple(fc.constantFrom('evt', 'pi', 'cs_live', 'rec', 'msg'), of(BASE62, 14, 64)).map((parts) => parts.join('_')),
  // RFC 5322, without its brackets, and ARNs.
  fc.tuple(of(BASE62, 8, 20), fc.domain()).map(([id, host]) => `${id}@${host}`),
  fc.tuple(of(HEX, 12), of(BASE64URL, 8, 20)).map(([account, id]) => `arn:aws:sqs:eu-central-1:${account}:${id}`),
);
// After an empty text, a number below 100 is read as a suffix such as `:2`.
const ID = TOOL_ID.filter((id) => !/^[0-9]{1,2}$/.test(id));
const WORKFLOW = fc.oneof(
  fc.constantFrom('triage', 'n8n', 'null-check', 'undefined.x', 'None/x', 'night-check', 'a.b', 'flow/7', 'flow:7', ''),
  of(BASE62, 1, 20),
);

test('an id of a real tool is never refused: alone, after a workflow, or before a suffix', () => {
  fc.assert(
    fc.property(
      WORKFLOW,
      fc.constantFrom(':', '/', '::'),
      ID,
      fc.constantFrom('', ':2', '/retry'),
      (flow, by, id, end) => {
        for (const key of [id, id + end, flow + by + id, flow + by + id + end]) {
          for (const header of [key, `"${key}"`, ` ${key}\t`]) {
            expect([header, hasEmptyEventId(header)]).toEqual([header, false]);
            expect(parseIdempotencyKey(header)).toEqual({ ok: true, key });
          }
        }
      },
    ),
    { numRuns: runs('ids that are not empty', inLongRuns(5_000, 2_000)) },
  );
});

test('an empty id is detected after any text', () => {
  const absent = fc.constantFrom('', 'undefined', 'null', 'NaN', 'None', 'NULL', '[object Object]');
  const before = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) });
  fc.assert(
    fc.property(before, fc.constantFrom(':', '/'), absent, (text, by, id) => {
      const key = text.replace(/^"+/, '') + by + id;
      expect([key, hasEmptyEventId(key), hasEmptyEventId(`"${key}"`)]).toEqual([key, true, true]);
    }),
    { numRuns: runs('ids that are empty', 2_000) },
  );
});
