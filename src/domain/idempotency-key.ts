import * as z from 'zod';
import { trimOws } from '../lib/trim-ows.ts';
import { echo } from './fields.ts';
import { containsKey } from './pasted-keys.ts';

const MAX_LENGTH = 255;
const VISIBLE_ASCII = /^[\x21-\x7e]*$/;
/** One plain key, or one structured-field string (RFC 9651 §3.3.3) of visible ASCII. */
const PLAIN_OR_QUOTED = /^(?:[\x21\x23-\x7e][\x21-\x7e]*|"(?:[\x21\x23-\x5b\x5d-\x7e]|\\["\\])+")$/;

/** Matches a word in any case. JSON Schema, where the pattern is also used, has no flag for that. */
const anyCase = (word: string) => word.replace(/[a-z]/g, (letter) => `[${letter.toUpperCase()}${letter}]`);

/** What tools put in place of a missing value. */
const ABSENT = `(?:${['undefined', 'null', 'nan', 'none'].map(anyCase).join('|')}|\\[${anyCase('object')}[^:/]*)`;

/** A placeholder that came out empty (in the last segment) or was not replaced (anywhere), quoted or not. */
const EMPTY_PLACEHOLDER = new RegExp(
  [
    `[:/]$|(?:^|[:/])${ABSENT}$`,
    `^"(?:.*[:/]|(?:.*[:/])?${ABSENT})"$`,
    // Of Handlebars, Mustache, Jinja and n8n, and of shells, JavaScript and Java.
    '\\{\\{|\\}\\}|\\$\\{',
  ].join('|'),
);

/**
 * The header in the contract. `not` instead of a lookahead, which Go (RE2) and Rust cannot compile; with a type, because
 * generators take a schema without one as any value, and would refuse every key.
 */
export const idempotencyKeyHeader = () =>
  z
    .string()
    .min(1)
    .max(MAX_LENGTH)
    .regex(PLAIN_OR_QUOTED)
    .meta({ not: { type: 'string', pattern: EMPTY_PLACEHOLDER.source } });

/**
 * Parses the Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header): `abc` and the quoted `"abc"` (a
 * structured-field string, RFC 9651 §3.3.3) are the same key. White space around the value is ignored. Without the
 * header, the key is undefined. `rule` completes the sentence "Idempotency-Key …".
 */
export function parseIdempotencyKey(
  header: string | undefined,
): { ok: true; key: string | undefined } | { ok: false; rule: string } {
  if (header === undefined) return { ok: true, key: undefined };
  const value = trimOws(header);
  // Repeated headers arrive as one value joined by a comma and a space. A key cannot contain a space, so they are
  // refused here. If the last of them is empty, that space was trimmed.
  const hasEmptyLast = value.endsWith(',') && !header.endsWith(',');
  if (hasEmptyLast || !VISIBLE_ASCII.test(value)) {
    return { ok: false, rule: 'contains a space or a character that is not visible ASCII, or was sent more than once' };
  }
  let key = value;
  if (value.startsWith('"')) {
    if (!/^"(?:[^"\\]|\\["\\])*"$/.test(value))
      return { ok: false, rule: 'begins with a quote but is not a single quoted string' };
    key = value.slice(1, -1).replace(/\\(["\\])/g, '$1');
  }
  if (key === '') return { ok: false, rule: 'is empty' };
  if (key.length > MAX_LENGTH) return { ok: false, rule: `is ${key.length} characters long` };
  return { ok: true, key };
}

/**
 * Whether the header shows that a tool had no value for the event id: nothing after the last `:` or `/`; `undefined`,
 * `null`, `NaN`, `None` in any case or `[object …` there or as the whole; `{{`, `}}` or `${` anywhere. All events would
 * share such a key, and all but the first would be lost as replays. Records of the past may have one, so
 * `parseIdempotencyKey` accepts it.
 */
export function hasEmptyEventId(header: string): boolean {
  return EMPTY_PLACEHOLDER.test(trimOws(header));
}

/** The remedy for an invalid Idempotency-Key, unless the rule has its own remedy. */
export const IDEMPOTENCY_KEY_REMEDY = 'send one value of 1 to 255 visible ASCII characters';

type CheckedKey = { ok: true; key: string | undefined } | { ok: false; rule: string; remedy: string };

/** Parses an Idempotency-Key that a request sent. `rule` and `remedy` complete the sentence "Idempotency-Key …; …". */
export function checkIdempotencyKey(sent: string | undefined, keyPrefix: string): CheckedKey {
  // Before parsing, because most placeholders contain spaces.
  if (sent !== undefined && hasEmptyEventId(sent)) {
    return {
      ok: false,
      rule: `was ${JSON.stringify(echo(sent))}: the event id in it came out empty`,
      remedy: 'fill it from a field of the event that always has a value',
    };
  }
  const parsed = parseIdempotencyKey(sent);
  if (!parsed.ok) return { ok: false, rule: parsed.rule, remedy: IDEMPOTENCY_KEY_REMEDY };
  // The audit log would store it permanently.
  if (parsed.key !== undefined && containsKey(parsed.key, keyPrefix)) {
    return {
      ok: false,
      rule: 'contains an API key',
      remedy: 'send a value that identifies the event, and the API key only in Authorization',
    };
  }
  return parsed;
}
