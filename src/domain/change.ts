import type { ActorType } from './audit-actions.ts';
import type { RECORD_KINDS, RecordKind } from './record-kinds.ts';
import type { AgreementSource, TimeEntryStatus } from './time-entry.ts';

// What the PSA reads. Everything in it can be sent over RPC and serialized as JSON.

/** Text from users. It is plain text, never markup: escape it before showing it in a page. */
export interface PlainText {
  mediaType: 'text/plain';
  text: string;
}

export const plain = (text: string): PlainText => ({ mediaType: 'text/plain', text });

/** UTC milliseconds as ISO 8601. */
export const instant = (at: number): string => new Date(at).toISOString();
export const optionalInstant = (at: number | null): string | null => (at === null ? null : instant(at));

export interface ChangedNote {
  id: string;
  ticketId: string;
  /** ISO 8601, UTC. */
  createdAt: string;
  message: PlainText;
}

export interface ChangedTimeEntry {
  id: string;
  ticketId: string;
  createdAt: string;
  userId: string;
  minutes: number;
  description: PlainText;
  billable: boolean;
  /** Midnight of the work date, ISO 8601, UTC. */
  workDate: string;
  hourlyRate: number;
  agreementSource: AgreementSource;
  status: TimeEntryStatus;
}

/** A record of each kind as the PSA reads it. */
interface ChangedRecord {
  note: ChangedNote;
  time_entry: ChangedTimeEntry;
}

/** For each kind of record, under its field: the record that a change is about, or null. */
export type ChangedRecords = {
  [Kind in RecordKind as (typeof RECORD_KINDS)[Kind]['changeField']]: ChangedRecord[Kind] | null;
};

/** The key that wrote the record, or that the change is about, in its current state. */
export interface ChangedKey {
  id: string;
  name: PlainText;
  /** How administrators recognize it, such as `twb_Ab12…x9Yz`. */
  hint: string;
  expiresAt: string | null;
  revokedAt: string | null;
  /** The key that replaced it, if it was rotated. */
  successorId: string | null;
}

/**
 * One row of the audit log, with the record it is about in its current state: a redacted note is
 * redacted in all its changes.
 */
export interface Change extends ChangedRecords {
  /** Pass it to `changes` to continue after this change. */
  cursor: string;
  /** Counts from 1 without gaps within the organization, in commit order. */
  seq: number;
  at: string;
  /**
   * `note.created`, `time_entry.approved`, `api_key.revoked` and so on. More may be added: ignore
   * unknown actions.
   */
  action: string;
  actor: { type: ActorType; id: string; name: PlainText };
  targetId: string;
  ticketId: string | null;
  requestId: string;
  idempotencyKey: string | null;
  /** More about the action in words, such as the name of a new key or what changed in a key. */
  detail: PlainText | null;
  key: ChangedKey | null;
}

/** The text of a record that was redacted. */
export const REDACTED = '[redacted]';
