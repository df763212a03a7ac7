import { echo } from '../domain/fields.ts';
import { hasEmptyEventId, parseIdempotencyKey } from '../domain/idempotency-key.ts';
import { containsKey } from '../domain/pasted-keys.ts';

/** The remedy for an invalid Idempotency-Key, unless the rule has its own remedy. */
export const IDEMPOTENCY_KEY_REMEDY = 'send one value of 1 to 255 visible ASCII characters';

type CheckedKey = { ok: true; key: string | undefined } | { ok: false; rule: string; remedy: string };

/** Parses an Idempotency-Key that a request sent. `rule` and `remedy` complete the sentence "Idempotency-Key …; …". */
export function checkIdempotencyKey(sent: string | undefined, keyPrefixes: readonly string[]): CheckedKey {
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
  if (parsed.key !== undefined && containsKey(parsed.key, keyPrefixes)) {
    return {
      ok: false,
      rule: 'contains an API key',
      remedy: 'send a value that identifies the event, and the API key only in Authorization',
    };
  }
  return parsed;
}
