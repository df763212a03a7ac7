import type { Change } from './psa-shapes.ts';
import type { RECORD_KINDS, RecordKind } from './record-kinds.ts';

export type { Change } from './psa-shapes.ts';

/** For each kind of record, under its field: the record that a change is about, or null. */
export type ChangedRecords = Pick<Change, (typeof RECORD_KINDS)[RecordKind]['changeField']>;

export const plain = (text: string) => ({ mediaType: 'text/plain' as const, text });

export const instant = (at: number): string => new Date(at).toISOString();
export const optionalInstant = (at: number | null): string | null => (at === null ? null : instant(at));

/** The text of a record that was redacted. */
export const REDACTED = '[redacted]';

/** A position in an organization's audit log: after the row with this `seq`. */
export interface ChangeCursor {
  epoch: string;
  seq: number;
  /** The request that wrote the row. After a restore, another row may have the same `seq`. */
  requestId: string;
}

const CURSOR = /^([0-9a-f]{16})\.([1-9]\d{0,14})\.([\x21-\x7e]{1,64})$/;

export function formatCursor({ epoch, seq, requestId }: ChangeCursor): string {
  return `${epoch}.${seq}.${requestId}`;
}

export function parseCursor(text: string): ChangeCursor | undefined {
  const [, epoch, seq, requestId] = CURSOR.exec(text) ?? [];
  if (epoch === undefined || seq === undefined || requestId === undefined) return undefined;
  return { epoch, seq: Number(seq), requestId };
}

/** The `seq` of a cursor; 0 for null. */
export const seqOf = (cursor: string | null): number => (cursor === null ? 0 : (parseCursor(cursor)?.seq ?? 0));
