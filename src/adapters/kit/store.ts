import type { PsaRecord } from './psa.ts';

/** `begun`: a create was sent, or its note is not read back yet. `public`: customers could see the note. */
export type RecordState = 'begun' | 'public' | 'written';
export type StoredRecord = { state: RecordState; psa_id: string | null; begun_at: number };

/** A change that the PSA has to get. Refused changes wait until a person resumes the adapter. */
export type QueuedChange = {
  seq: number;
  record: string;
  is_redaction: number;
  due_at: number;
  failing_since: number | null;
  attempts: number;
  is_reported: number;
};

/** The limit is for the texts that are stored here. */
const MAX_WAITING = 100;
/** How long a record that the PSA refused can be written again: as long as its refusal needs attention. */
const REFUSED_MS = 30 * 86_400_000;

const SCHEMA = `
  create table if not exists records (
    id text primary key, kind text not null, ticket text not null, state text not null, psa_id text,
    begun_at integer not null, is_reviewed integer not null default 0) without rowid;
  create index if not exists records_psa_id on records (kind, psa_id);
  create table if not exists queue (
    seq integer primary key, id text not null, ticket text not null, record text not null, is_redaction integer not null,
    due_at integer not null default 0, failing_since integer, attempts integer not null default 0,
    refused_at integer, is_reported integer not null default 0);
  create index if not exists queue_id on queue (id);
  create table if not exists reviews (
    id text primary key, decision text not null, reviewer text not null) without rowid;`;

/** What an adapter remembers: which record is which in the PSA, and the changes that it still has to write. */
export class Store {
  readonly kv: SyncKvStorage;
  private readonly sql: SqlStorage;
  private readonly storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.storage = storage;
    this.kv = storage.kv;
    this.sql = storage.sql;
    this.sql.exec(SCHEMA);
  }

  find(id: string): StoredRecord | undefined {
    return this.sql.exec<StoredRecord>('select state, psa_id, begun_at from records where id = ?', id).toArray()[0];
  }

  /** Stores the state of a record. What is sent next leaves only when this is on disk. */
  put({ id, kind, ticketId }: PsaRecord, state: RecordState, psaId: string | null, now: number): void {
    this.sql.exec(
      `insert into records (id, kind, ticket, state, psa_id, begun_at) values (?1, ?2, ?3, ?4, ?5, ?6)
       on conflict do update set state = ?4, psa_id = ?5, begun_at = ?6`,
      ...[id, kind, ticketId, state, psaId, now],
    );
  }

  forget(id: string): void {
    this.sql.exec('delete from records where id = ?', id);
  }

  /** The id of a time entry without a review, by its id in the PSA. */
  timeEntry(psaId: string): string | undefined {
    const rows = this.sql.exec<{ id: string }>(
      "select id from records where kind = 'time_entry' and psa_id = ? and is_reviewed = 0",
      psaId,
    );
    return rows.toArray()[0]?.id;
  }

  get canQueue(): boolean {
    const waiting = this.sql.exec<{ n: number }>('select count(*) as n from queue where refused_at is null').one().n;
    return waiting < MAX_WAITING;
  }

  get isEmpty(): boolean {
    return this.sql.exec('select 1 from queue where refused_at is null limit 1').toArray().length === 0;
  }

  /** Stores a page of the feed with its cursor. A redaction also replaces the text of earlier changes. */
  queue(changes: readonly { seq: number; record: PsaRecord; isRedaction: boolean }[], cursor: string | null): void {
    this.storage.transactionSync(() => {
      for (const { seq, record, isRedaction } of changes) {
        const json = JSON.stringify(record);
        if (isRedaction) this.sql.exec('update queue set record = ? where id = ?', json, record.id);
        this.sql.exec(
          'insert into queue (seq, id, ticket, record, is_redaction) values (?, ?, ?, ?, ?) on conflict do nothing',
          ...[seq, record.id, record.ticketId, json, isRedaction ? 1 : 0],
        );
      }
      this.kv.put('cursor', cursor);
    });
  }

  /**
   * The next change to write, in the order of its ticket. While the PSA has not shown that a note is private, it is the
   * next one, and nothing else is written.
   */
  next(now: number): QueuedChange | undefined {
    const unread = this.sql
      .exec<QueuedChange>(
        `select * from queue where refused_at is null and exists (select 1 from records r
           where r.id in (queue.id, queue.id || '/text') and r.state = 'begun' and r.psa_id is not null) limit 1`,
      )
      .toArray()[0];
    if (unread) return unread.due_at <= now ? unread : undefined;
    return this.sql
      .exec<QueuedChange>(
        `select * from queue where refused_at is null and due_at <= ?1 and not exists (select 1 from queue e
           where e.ticket = queue.ticket and e.seq < queue.seq and e.refused_at is null) order by due_at, seq limit 1`,
        now,
      )
      .toArray()[0];
  }

  done(seq: number): void {
    this.sql.exec('delete from queue where seq = ?', seq);
  }

  postpone({ seq, failing_since, attempts }: QueuedChange, dueAt: number, now: number): void {
    this.sql.exec(
      'update queue set due_at = ?, failing_since = ?, attempts = ? where seq = ?',
      ...[dueAt, failing_since ?? now, attempts + 1, seq],
    );
  }

  refuse(seq: number, now: number): void {
    this.sql.exec('update queue set refused_at = ?, is_reported = 1 where seq = ?', now, seq);
    this.sql.exec('delete from queue where refused_at < ?', now - REFUSED_MS);
  }

  /** Has the changes that were refused since a time written again. */
  retryRefused(since: number): void {
    this.sql.exec(
      'update queue set refused_at = null, failing_since = null, attempts = 0, due_at = 0 where refused_at >= ?',
      since,
    );
  }

  /** The notes that customers could see, and that are not removed yet. */
  publicNotes(): { record: PsaRecord; psaId: string }[] {
    return this.sql
      .exec<{ id: string; ticketId: string; psaId: string }>(
        "select id, ticket as ticketId, psa_id as psaId from records where state = 'public'",
      )
      .toArray()
      .map(({ psaId, ...of }) => ({ record: { kind: 'note', ...of, createdAt: '', text: '', mark: '' }, psaId }));
  }

  putReview(id: string, decision: string, reviewer: string): void {
    this.sql.exec(
      'insert into reviews values (?1, ?2, ?3) on conflict do update set decision = ?2, reviewer = ?3',
      ...[id, decision, reviewer],
    );
  }

  reviews(): { id: string; decision: 'APPROVED' | 'REJECTED'; reviewer: string }[] {
    return this.sql
      .exec<{ id: string; decision: 'APPROVED' | 'REJECTED'; reviewer: string }>('select * from reviews')
      .toArray();
  }

  doneReview(id: string): void {
    this.sql.exec('delete from reviews where id = ?', id);
    this.sql.exec('update records set is_reviewed = 1 where id = ?', id);
  }

  /** The organization was erased: nothing of it stays. */
  clear(): void {
    for (const table of ['records', 'queue', 'reviews']) this.sql.exec(`delete from ${table}`);
  }
}
