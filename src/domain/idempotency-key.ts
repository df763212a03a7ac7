import * as z from 'zod/mini';
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

/** What a workflow appends to the event id: `:2`, `-note`. */
const SUFFIX = '[-_:](?:[A-Za-z]{1,12}|[0-9]{1,2})';
/** A value can be quoted, in a program even twice. */
const END = '"*$';
const HEX_GROUP = '[0-9A-Fa-f]{0,4}';

/** No event id, or a placeholder that was not replaced. Linear time, and no lookaheads: see `idempotencyKeyHeader`. */
const EMPTY_EVENT_ID = new RegExp(
  [
    `[:/]${END}`,
    `^"?${ABSENT}(?:${SUFFIX})?${END}`,
    `[:/]"?${ABSENT}(?:${SUFFIX})?(?::[0-9]{1,2})?${END}`,
    `[-_]${anyCase('undefined')}(?:${SUFFIX})?${END}`,
    // Nothing before `:2`, unless all of the value could be an IPv6 address, such as fe80::2.
    `(?:^"?|/):[0-9]{1,2}${END}`,
    `^"?(?:${HEX_GROUP}:)*(?:[0-9A-Fa-f]{5}|${HEX_GROUP}[^0-9A-Fa-f:"]).*::[0-9]{1,2}${END}`,
    // {{id}} {% id %} [[id]] ${id} #{id} @{id} %{id} $(id) <%= id %>, and Power Automate's ()?['id'].
    '\\}\\}|\\[\\[|\\{[{%]|[$#@%]\\{|\\$\\(|<%|\\)\\?\\[',
    // {id}, {} and {0}. What has no letter after F can be a hexadecimal id in braces.
    '\\{(?:(?:[A-Fa-f][^{}G-Zg-z_]{0,8})?[G-Zg-z_][^{}]{0,30}|[0-9]{0,2})\\}',
    // <id>. A Message-ID in brackets has an @ or digits.
    '<[A-Za-z_][^<>@0-9]{0,40}>',
    // $id $1 $json.id $.id, shorter than an event id of Matrix; and %s. Part of a longer word, both mean something else.
    `(?:^|[^0-9A-Za-z])(?:\\$\\.?[A-Za-z_][0-9A-Za-z_]{0,24}|[$%][0-9a-z])(?:${SUFFIX})?${END}`,
    '(?:^|[^0-9A-Za-z])\\$\\.?[A-Za-z_][0-9A-Za-z_]{0,24}[.[]',
    // $env:ID of PowerShell.
    `\\$${anyCase('env')}:`,
    // %id%. In percent-encoded text two hexadecimal digits follow every %.
    '%[A-Za-z_][0-9A-Za-z_]{0,40}%(?:[^0-9A-Fa-f]|$)',
  ].join('|'),
);

/**
 * The header in the contract. `not` instead of a lookahead, which Go (RE2) and Rust cannot compile; with a type, because
 * generators take a schema without one as any value, and would refuse every key.
 */
export const idempotencyKeyHeader = () =>
  z
    .string()
    .check(
      z.minLength(1),
      z.maxLength(MAX_LENGTH),
      z.regex(PLAIN_OR_QUOTED),
      z.meta({ not: { type: 'string', pattern: EMPTY_EVENT_ID.source } }),
    );

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
  // Some proxies join without a space. The contract's pattern cannot express this rule.
  const half = (value.length - 1) / 2;
  const isTwice = value[half] === ',' && value.startsWith(value.slice(half + 1));
  const [first, ...others] = value.split(',');
  const isRepeated = isTwice || (others.length > 0 && others.every((other) => other === first));
  if (hasEmptyLast || isRepeated || !VISIBLE_ASCII.test(value)) {
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
 * Whether the header shows that a tool had no value for the event id, or did not replace a placeholder for it. All
 * events would share such a key, and all but the first would be lost as replays. A search for such a key is no write,
 * so `parseIdempotencyKey` accepts it.
 */
export function hasEmptyEventId(header: string): boolean {
  return EMPTY_EVENT_ID.test(trimOws(header));
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
      rule: `was ${JSON.stringify(echo(sent))}: the event id in it is empty or a placeholder`,
      remedy:
        "fill it from a field of the event that always has a value, or, if it is the event's real id, percent-encode it",
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
