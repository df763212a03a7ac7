import type { PsaRecord } from './psa.ts';

// Keys of the store: `pending/ID` and `written/ID` of records, `entry/PSA ID` of time entries that wait for a decision of
// the PSA, `reported/ID` of records whose refusal was reported, with the time, `unread` and `public` for the note that is not
// read back or not removed yet, and the names of states and jobs.

/** A list of changes may lack one that was being saved while it was read. */
export const OVERLAP_MS = 5 * 60_000;

export interface JobState {
  dueAt: number;
  /** Since when the next run has to read. */
  from?: number | undefined;
  attempts: number;
  failure?: string;
}
export const stateOf = (kv: SyncKvStorage, job: string) => kv.get<JobState>(job) ?? { dueAt: 0, attempts: 0 };

/** A record that the PSA has to get. Refused records wait until a person resumes the adapter. */
export interface Pending {
  record: PsaRecord;
  seq: number;
  /** Whether its text has to be replaced. */
  isRedaction: boolean;
  /** The feed has a redaction without its creation only if an adapter has written the record. */
  mayCreate: boolean;
  dueAt: number;
  attempts: number;
  failingSince?: number | undefined;
  refusedAt?: number | undefined;
}

/** What the PSA may have. Without an id, a create was sent; `isRead`: its note was read back. */
export interface Written {
  psaId?: string;
  isRead?: boolean;
  /** When no request can still take place. */
  settledAt: number;
}

export const save = (kv: SyncKvStorage, pending: Pending) => kv.put(`pending/${pending.record.id}`, pending);

export const pendingIn = (kv: SyncKvStorage): Pending[] =>
  Array.from(kv.list<Pending>({ prefix: 'pending/' }), ([, pending]) => pending);

/** Stores a time entry that waits for a decision of the PSA. It may have decided before its id was known here. */
export function awaitDecision(kv: SyncKvStorage, psaId: string, { id, createdAt }: PsaRecord): void {
  const state: JobState = stateOf(kv, 'reviews');
  const since = Date.parse(createdAt) - OVERLAP_MS;
  kv.put<JobState>('reviews', { ...state, from: Math.min(state.from ?? since, since) });
  kv.put(`entry/${psaId}`, id);
}

/** The records to write, without those that the PSA refused. */
export const waitingIn = (kv: SyncKvStorage): Pending[] =>
  pendingIn(kv).filter(({ refusedAt }) => refusedAt === undefined);

/**
 * The next record to write, in the order of its ticket. While the PSA has not shown that a note is private, it is the next
 * one, and nothing else is written.
 */
export function nextIn(kv: SyncKvStorage, now: number): Pending | undefined {
  const waiting = waitingIn(kv);
  const unread = kv.get<string>('unread');
  const isNext = ({ record, seq }: Pending) =>
    unread === undefined
      ? !waiting.some((one) => one.record.ticketId === record.ticketId && one.seq < seq)
      : record.id === unread;
  const due = waiting.filter((pending) => pending.dueAt <= now && isNext(pending));
  return due.sort((a, b) => a.dueAt - b.dueAt || a.seq - b.seq)[0];
}

/** Has the records that were refused since a time written again. */
export function retryRefused(kv: SyncKvStorage, since: number): void {
  for (const pending of pendingIn(kv))
    if (pending.refusedAt !== undefined && pending.refusedAt >= since)
      save(kv, { ...pending, refusedAt: undefined, failingSince: undefined, attempts: 0 });
}
