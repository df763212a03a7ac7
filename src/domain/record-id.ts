import { stringify, v7, validate, version } from 'uuid';
import * as z from 'zod/mini';
import { sha256 } from '../lib/bytes.ts';
import { ruleError } from './fields.ts';
import type { RecordKind } from './record-kinds.ts';

export function recordId(what: string) {
  return z.guid({ error: ruleError(`the id of ${what}, a UUID`) }).check(z.toLowerCase());
}

/** Sorts after every id, because ids are lower-case hex. */
export const AFTER_ALL_IDS = 'g';

/** A UUID version 7 (RFC 9562 §5.7) that begins with `now` (UTC milliseconds), so ids sort by age. */
export function timeOrderedId(now: number): string {
  return v7({ msecs: now });
}

/** The creation time in a version 7 UUID (UTC milliseconds); undefined for any other text. */
export function timeOfId(id: string): number | undefined {
  return validate(id) && version(id) === 7 ? Number.parseInt(id.replace('-', '').slice(0, 12), 16) : undefined;
}

/**
 * The id of the record that this Idempotency-Key creates in this organization: a UUID version 8 (RFC 9562 §5.8) from
 * the SHA-256 of the three arguments. The primary key thus enforces idempotency: the same key can never create a second
 * row.
 */
export async function derivedId(organizationId: string, kind: RecordKind, idempotencyKey: string): Promise<string> {
  const bytes = (await sha256(JSON.stringify([organizationId, kind, idempotencyKey]))).slice(0, 16);
  const view = new DataView(bytes.buffer);
  view.setUint8(6, 0x80 | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  return stringify(bytes);
}
