import type { Change } from './psa-shapes.ts';
import type { RECORD_KINDS, RecordKind } from './record-kinds.ts';

export type { Change, PlainText } from './psa-shapes.ts';

/** For each kind of record, under its field: the record that a change is about, or null. */
export type ChangedRecords = Pick<Change, (typeof RECORD_KINDS)[RecordKind]['changeField']>;

export const plain = (text: string) => ({ mediaType: 'text/plain' as const, text });

export const instant = (at: number): string => new Date(at).toISOString();
export const optionalInstant = (at: number | null): string | null => (at === null ? null : instant(at));

/** The text of a record that was redacted. */
export const REDACTED = '[redacted]';
