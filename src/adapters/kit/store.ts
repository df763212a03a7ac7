import type { RecordKind } from '../../domain/record-kinds.ts';
import type { PsaRecord } from './psa.ts';

// Keys of the store: `waiting/LANE/ORDER` and `refused/LANE/ORDER` of records, `at/ID` with the key of a record there,
// `written/ID` of records, `stream/STREAM` of those that fail, `failure/KIND` and `writtenAt/KIND`, `entry/PSA ID` of time
// entries that wait for a decision of the PSA, `reported/ID` of records whose refusal was reported, `entered/ID` of
// time that a person has entered by hand, `unread` and `public` for the note that is not read back or not removed yet,
// `timeToTest/`, `testEntry/` and `timeTested/` with a value of CREDITED for the test of time, and the names of states and jobs.

/** A list of changes may lack one that was being saved while it was read. */
export const OVERLAP_MS = 5 * 60_000;
const PAGE = 1_000;
/** Whose time it is. Crediting technicians can need more rights than crediting the account of automations. */
export const CREDITED = ['service', 'technician'] as const;
export type Credited = (typeof CREDITED)[number];

export interface JobState {
  dueAt: number;
  /** Since when the next run has to read. */
  from?: number | undefined;
  attempts: number;
  failure?: string;
}
const [FIRST_BACKOFF_MS, LAST_BACKOFF_MS] = [5_000, 10 * 60_000];
export const backoffMs = (attempts: number) => Math.min(FIRST_BACKOFF_MS * 2 ** attempts, LAST_BACKOFF_MS);

export const stateOf = (kv: SyncKvStorage, job: string) => kv.get<JobState>(job) ?? { dueAt: 0, attempts: 0 };

/**
 * A record that the PSA has to get: its place in the feed, where it is read again when its turn comes. So no text is stored
 * here. Refused records wait until a person resumes the adapter.
 */
export interface Pending {
  id: string;
  kind: RecordKind;
  ticketId: string;
  /** The id of the API key. Empty for the redaction of a record that the PSA may have: no key holds it up. */
  key: string;
  /** The cursor before its newest change. */
  after: string | null;
  /** Its order in its lane. */
  since: number;
  seq: number;
  /** Whether its text has to be replaced. */
  isRedaction: boolean;
  /** The feed has a redaction without its creation only if an adapter has written the record. */
  mayCreate: boolean;
  dueAt: number;
  attempts: number;
  failingSince?: number | undefined;
  triedAt?: number | undefined;
  refusedAt?: number | undefined;
  /** Whose time it is, once it had to wait for the test of such time. */
  credited?: Credited;
}

/** What is forgotten of a record that is tried again as if it had never failed. */
export const TRY_AGAIN = { attempts: 0, dueAt: 0, failingSince: undefined, triedAt: undefined, refusedAt: undefined };

/** What the PSA may have, or shows as different time with its mark. `isRead`: its note was read back. */
export interface Written {
  psaId?: string;
  isRead?: boolean;
  /** When no create can still take place; 0 without an id: none was sent. */
  settledAt: number;
}

/** The records of one kind of one key, while they fail. */
export interface Stream {
  dueAt: number;
  /** The tickets on which they failed since the last one was written. */
  tickets: string[];
  /** Refusals in a row that are not about the ticket. */
  refusals: { ticketId: string; at: number; message: string }[];
}

export const streamOf = ({ key, kind }: Pending) => `${key}/${kind}`;
/** The records of one lane are written one after the other. */
const laneOf = (pending: Pending) => `${streamOf(pending)}/${pending.ticketId}`;

export const streamIn = (kv: SyncKvStorage, pending: Pending): Stream =>
  kv.get(`stream/${streamOf(pending)}`) ?? { dueAt: 0, tickets: [], refusals: [] };

export const pendingOf = (kv: SyncKvStorage, id: string): Pending | undefined => {
  const place = kv.get<string>(`at/${id}`);
  return place === undefined ? undefined : kv.get<Pending>(place);
};

export function save(kv: SyncKvStorage, pending: Pending): void {
  const { id, since, seq, refusedAt } = pending;
  const order = [since, seq].map((part) => String(part).padStart(15, '0')).join('-');
  const place = `${refusedAt === undefined ? 'waiting' : 'refused'}/${laneOf(pending)}/${order}`;
  forget(kv, id);
  kv.put(place, pending);
  kv.put(`at/${id}`, place);
}

/** Removes a record that does not wait any longer. */
export function forget(kv: SyncKvStorage, id: string): void {
  const place = kv.get<string>(`at/${id}`);
  if (place !== undefined) kv.delete(place);
  kv.delete(`at/${id}`);
}

/** Stores a time entry that waits for a decision of the PSA. It may have decided before its id was known here. */
export function awaitDecision(kv: SyncKvStorage, psaId: string, { id, createdAt }: PsaRecord): void {
  const state: JobState = stateOf(kv, 'reviews');
  const since = Date.parse(createdAt) - OVERLAP_MS;
  kv.put<JobState>('reviews', { ...state, from: Math.min(state.from ?? since, since) });
  kv.put(`entry/${psaId}`, id);
}

const firstIn = (kv: SyncKvStorage, range: SyncKvListOptions): Pending | undefined =>
  Array.from(kv.list<Pending>({ ...range, limit: 1 }), ([, pending]) => pending)[0];

/** The first record of each lane. Each turn reads them once, because there may be thousands. */
export function headsIn(kv: SyncKvStorage): Map<string, Pending> {
  const heads = new Map<string, Pending>();
  for (let start = 'waiting/'; ; ) {
    const head = firstIn(kv, { prefix: 'waiting/', start });
    if (!head) return heads;
    heads.set(laneOf(head), head);
    // The character after the slash that ends the lane.
    start = `waiting/${laneOf(head)}0`;
  }
}

/** Updates the first record of the lane of a record that was tried. */
export function updateHead(kv: SyncKvStorage, heads: Map<string, Pending>, tried: Pending): void {
  const lane = laneOf(tried);
  const head = firstIn(kv, { prefix: `waiting/${lane}/` });
  if (head) heads.set(lane, head);
  else heads.delete(lane);
}

/**
 * The next record to write: the oldest one of the stream whose turn was the longest ago. A record that failed steps
 * behind those of other tickets and streams. While the PSA has not shown that a note is private, it is the next one, and
 * nothing else is written.
 */
export function nextIn(
  kv: SyncKvStorage,
  heads: ReadonlyMap<string, Pending>,
  now: number,
  servedAt: ReadonlyMap<string, number>,
): Pending | undefined {
  const unread = kv.get<string>('unread');
  if (unread !== undefined) {
    const pending = pendingOf(kv, unread);
    return pending && pending.dueAt <= now ? pending : undefined;
  }
  // New time waits for the test of such time. Nothing else does.
  const held = CREDITED.filter((credited) => kv.get(`timeToTest/${credited}`) !== undefined);
  const streams = new Map<string, Stream>();
  const candidates = Array.from(heads.values()).flatMap((pending) => {
    if (pending.mayCreate && pending.credited && held.includes(pending.credited)) return [];
    const name = streamOf(pending);
    const stream = streams.get(name) ?? streamIn(kv, pending);
    streams.set(name, stream);
    if (Math.max(stream.dueAt, pending.dueAt) > now) return [];
    const hasFailed = stream.tickets.includes(pending.ticketId);
    const since = Math.max(pending.since, pending.dueAt);
    return [{ pending, order: [Number(hasFailed), servedAt.get(name) ?? 0, since, pending.seq] }];
  });
  const isBefore = (a: number[], b: number[]) => {
    const index = a.findIndex((part, at) => part !== b[at]);
    return index !== -1 && (a[index] ?? 0) < (b[index] ?? 0);
  };
  const [first, ...others] = candidates;
  return first && others.reduce((best, one) => (isBefore(one.order, best.order) ? one : best), first).pending;
}

/** All rows with a prefix, in pages. A page can be changed before the next one is read. */
function* pagesOf<Value>(kv: SyncKvStorage, prefix: string): Generator<[string, Value][]> {
  for (let startAfter: string | undefined; ; ) {
    const page = Array.from(kv.list<Value>({ prefix, limit: PAGE, ...(startAfter !== undefined && { startAfter }) }));
    yield page;
    if (page.length < PAGE) return;
    startAfter = page.at(-1)?.[0];
  }
}

export function deleteAll(kv: SyncKvStorage, prefix: string): void {
  for (const page of pagesOf(kv, prefix)) for (const [key] of page) kv.delete(key);
}

/** Has the records that were refused since a time, of all streams or of one, written again, after those that wait. */
export function retryRefused(kv: SyncKvStorage, now: number, since: number, stream = ''): void {
  for (const page of pagesOf<Pending>(kv, `refused/${stream}`))
    for (const [, pending] of page)
      if (pending.refusedAt !== undefined && pending.refusedAt >= since)
        save(kv, { ...pending, ...TRY_AGAIN, since: now });
}

/** Removes the records that were refused before a time. */
export function forgetRefused(kv: SyncKvStorage, before: number): void {
  for (const page of pagesOf<Pending>(kv, 'refused/'))
    for (const [, { id, refusedAt = before }] of page) if (refusedAt < before) forget(kv, id);
}
