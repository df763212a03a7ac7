import * as z from 'zod';
import { trimOws } from '../lib/trim-ows.ts';

const MAX_LENGTH = 255;
const VISIBLE_ASCII = /^[\x21-\x7e]*$/;

/** The header as the contract describes it. Its quoted form is two characters longer at least, and is for `parseIdempotencyKey` alone. */
export const idempotencyKeyHeader = z.string().min(1).max(MAX_LENGTH).regex(VISIBLE_ASCII);

export type IdempotencyKeyResult = { ok: true; key: string | undefined } | { ok: false; rule: string };

/**
 * Reads the Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header): `abc` and the quoted `"abc"` (a structured-field
 * string, RFC 9651 §3.3.3) are the same key. White space around the value is ignored. Without a header the key is undefined.
 */
export function parseIdempotencyKey(header: string | undefined): IdempotencyKeyResult {
  if (header === undefined) return { ok: true, key: undefined };
  const value = trimOws(header);
  // Repeated headers arrive as one value joined by a comma and a space; a space is not allowed in a key, so they end here.
  // If the last of them is empty, that space is at the end and was trimmed.
  const hasEmptyLast = value.endsWith(',') && !header.endsWith(',');
  if (hasEmptyLast || !VISIBLE_ASCII.test(value)) {
    return { ok: false, rule: 'holds a space or a character that is not visible ASCII, or was sent more than once' };
  }
  let key = value;
  if (value.startsWith('"')) {
    if (!/^"(?:[^"\\]|\\["\\])*"$/.test(value))
      return { ok: false, rule: 'begins with a quote but is not one quoted string' };
    key = value.slice(1, -1).replace(/\\(["\\])/g, '$1');
  }
  if (key === '') return { ok: false, rule: 'is empty' };
  if (key.length > MAX_LENGTH) return { ok: false, rule: `is ${key.length} characters long` };
  return { ok: true, key };
}
