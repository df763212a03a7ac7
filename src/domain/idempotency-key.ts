import * as z from 'zod';

const MAX_LENGTH = 255;
const VISIBLE_ASCII = /^[\x21-\x7e]*$/;

/**
 * The header in the contract. Only `parseIdempotencyKey` accepts the quoted form, which is longer.
 */
export const idempotencyKeyHeader = z.string().min(1).max(MAX_LENGTH).regex(VISIBLE_ASCII);

export type IdempotencyKeyResult = { ok: true; key: string | undefined } | { ok: false; rule: string };

/**
 * Parses the Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header): `abc` and the
 * quoted `"abc"` (a structured-field string, RFC 9651 §3.3.3) are the same key. Without the header,
 * the key is undefined. `rule` completes the sentence "Idempotency-Key …".
 */
export function parseIdempotencyKey(header: string | undefined): IdempotencyKeyResult {
  if (header === undefined) return { ok: true, key: undefined };
  // Repeated headers arrive as one value joined by a comma and a space. A key cannot contain a
  // space, so they are refused here.
  if (!VISIBLE_ASCII.test(header)) {
    return { ok: false, rule: 'contains a space or a character that is not visible ASCII, or was sent more than once' };
  }
  let key = header;
  if (header.startsWith('"')) {
    if (!/^"(?:[^"\\]|\\["\\])*"$/.test(header))
      return { ok: false, rule: 'begins with a quote but is not a single quoted string' };
    key = header.slice(1, -1).replace(/\\(["\\])/g, '$1');
  }
  if (key === '') return { ok: false, rule: 'is empty' };
  if (key.length > MAX_LENGTH) return { ok: false, rule: `is ${key.length} characters long` };
  return { ok: true, key };
}
