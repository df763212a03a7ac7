import * as z from 'zod';
import { sha256 } from '../lib/bytes.ts';
import { ruleError } from './fields.ts';
import type { RecordKind } from './record-kinds.ts';

export function recordId(what: string) {
  return z.guid({ error: ruleError(`the id of ${what}, a UUID`) }).toLowerCase();
}

/** Sorts after every id, because ids are lower-case hex. */
export const AFTER_ALL_IDS = 'g';

/** A UUID version 7 (RFC 9562 §5.7) that begins with `now` (UTC milliseconds), so ids sort by age. */
export function timeOrderedId(now: number): string {
  const view = new DataView(crypto.getRandomValues(new Uint8Array(16)).buffer);
  view.setUint32(0, now / 2 ** 16);
  view.setUint16(4, now % 2 ** 16);
  return uuidOf(view, 7);
}

/** A UUID from 16 bytes, in which it sets version and variant. */
function uuidOf(view: DataView<ArrayBuffer>, version: 7 | 8): string {
  view.setUint8(6, (version << 4) | (view.getUint8(6) & 0x0f));
  view.setUint8(8, 0x80 | (view.getUint8(8) & 0x3f));
  return new Uint8Array(view.buffer).toHex().replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/** The creation time in a version 7 UUID (UTC milliseconds); undefined for any other text. */
export function timeOfId(id: string): number | undefined {
  return VERSION_7.test(id) ? Number.parseInt(id.replace('-', '').slice(0, 12), 16) : undefined;
}

/**
 * The id of the record that this Idempotency-Key creates in this organization: a UUID version 8 (RFC 9562 §5.8) from
 * the SHA-256 of the three arguments. The primary key thus enforces idempotency: the same key can never create a second
 * row.
 */
export async function derivedId(organizationId: string, kind: RecordKind, idempotencyKey: string): Promise<string> {
  const hash = await sha256(JSON.stringify([organizationId, kind, idempotencyKey]));
  return uuidOf(new DataView(hash.slice(0, 16).buffer), 8);
}
