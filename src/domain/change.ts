import type { AgreementSource, TimeEntryStatus } from './time-entry.ts';

// What the PSA is given to read. Everything in it can be sent over RPC and written as JSON.

/** What somebody outside wrote. It is plain text, never markup: escape it before it is shown in a page. */
export interface PlainText {
  mediaType: 'text/plain';
  text: string;
}

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

/** The key that a record was written with, or that something happened to, as it is now. */
export interface ChangedKey {
  id: string;
  name: PlainText;
  /** What administrators recognise it by, such as `twb_Ab12…x9Yz`. */
  hint: string;
  expiresAt: string | null;
  revokedAt: string | null;
  /** The key that replaced it, if it was rotated. */
  successorId: string | null;
}

/** One row of the audit log, and the record it is about as that is now: a redacted note reads so in all its changes. */
export interface Change {
  /** Hand it to `changes` to go on behind this change. */
  cursor: string;
  /** Counts from 1 without gaps within the organization, in the order in which the changes were committed. */
  seq: number;
  at: string;
  /** `note.created`, `time_entry.approved`, `api_key.revoked` and so on; more may come, so pass over what you do not know. */
  action: string;
  actor: { type: 'api_key' | 'user' | 'system'; id: string; name: PlainText };
  targetId: string;
  ticketId: string | null;
  requestId: string;
  idempotencyKey: string | null;
  /** What the action was in particular, in words for people, such as the name of a new key or what was changed in one. */
  detail: PlainText | null;
  note: ChangedNote | null;
  timeEntry: ChangedTimeEntry | null;
  key: ChangedKey | null;
}

/** What a text reads once it has been redacted. */
export const REDACTED = '[redacted]';
