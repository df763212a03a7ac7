import { AUDIT_TEXT_LENGTH } from '../../domain/audit-actions.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS, type RecordKind, type TimeEntryStatus } from '../../domain/record-kinds.ts';
import { columns, number, numberOrNull, type RowOf, statement, text, textOrNull } from '../statement.ts';
import { RECORD_TABLES } from '../work/record-tables.ts';
import { AUDIT_COLUMNS, NEXT_SEQ } from './audit-columns.ts';

// Reads of the audit log, each of a bounded number of rows.

/** A kind's name is also the alias of its table. */
const TEXTS = RECORD_KIND_NAMES.map((kind) => `${kind}.${RECORD_KINDS[kind].textField}`).join(', ');
const RECORD_JOINS = RECORD_KIND_NAMES.map(
  (kind) =>
    `left join ${RECORD_TABLES[kind].table} ${kind} on ${kind}.organization_id = a.organization_id and ${kind}.id = a.target_id`,
);

/** A row of the audit log with its key: the actor, or the key that an administrator changed. */
const AUDIT_LOG_ROW = {
  ...AUDIT_COLUMNS,
  sourceAddress: textOrNull('a.source_address'),
  userAgent: textOrNull('a.user_agent'),
  keyId: textOrNull('k.id'),
  keyName: textOrNull('k.name'),
  keyHint: textOrNull('k.hint'),
  keyRevokedAt: numberOrNull('k.revoked_at'),
  minutes: numberOrNull('time_entry.minutes'),
  technician: textOrNull('u.name'),
  billable: numberOrNull('time_entry.billable'),
  hourlyRateMinor: numberOrNull('time_entry.hourly_rate_minor'),
  status: textOrNull<TimeEntryStatus>('time_entry.status'),
  /** Who approved or rejected the time, and when. */
  decidedBy: textOrNull('decision.actor_name'),
  decidedAt: numberOrNull('decision.at'),
  /** Why the PSA could not take the record that the row created, if that is so. */
  refusal: textOrNull('f.reason'),
  /** The record's text as it is now, or null: its beginning, or all of it in a search by id. */
  text: textOrNull(`coalesce(${TEXTS})`),
  /** In characters. */
  textLength: numberOrNull(`length(coalesce(${TEXTS}))`),
};

export type AuditLogRow = RowOf<typeof AUDIT_LOG_ROW>;

const ORGANIZATION_DAY = {
  /** Calendar date in the organization's time zone, `YYYY-MM-DD`; empty if nothing was counted. */
  day: text('a.day'),
  /** New records and bytes of text, by all keys. */
  records: number('a.day_records'),
  bytes: number('a.day_bytes'),
};

export type OrganizationDay = RowOf<typeof ORGANIZATION_DAY>;

/** The totals on the organization's latest audit row; no row if there is none. */
export const findLatestDay = statement<{ organizationId: string }, OrganizationDay>(`
  select ${columns(ORGANIZATION_DAY)}
  from audit_log a where a.organization_id = :organizationId order by a.seq desc limit 1`);

/** One character more than is shown tells if a text is longer. */
const BEGINNING = textOrNull(`substr(${AUDIT_LOG_ROW.text.sql}, 1, ${AUDIT_TEXT_LENGTH + 1})`);

const rowsOf = (seqs: string, text = BEGINNING) => `
  select ${columns({ ...AUDIT_LOG_ROW, text })}
  from audit_log a
  left join api_keys k on k.organization_id = a.organization_id and k.id = iif(a.actor_type = 'api_key', a.actor_id, a.target_id)
  ${RECORD_JOINS.join('\n  ')}
  left join users u on u.organization_id = time_entry.organization_id and u.id = time_entry.user_id
  left join audit_log decision on decision.organization_id = a.organization_id and decision.seq = time_entry.approval_seq
  left join psa_refusals f on f.organization_id = a.organization_id and f.record_id = a.target_id and a.action = f.kind || '.created'
  where a.organization_id = :organizationId and a.seq in (${seqs})
  order by a.seq desc`;

interface WindowValues {
  organizationId: string;
  before: number;
  from: number;
  examine: number;
}

/** The filter within the examined range. Null matches any value. */
interface FilterValues {
  /** As JSON. */
  actions: string | null;
  ticketId: string | null;
  requestId: string | null;
  /** The rows about time entries of at least so many minutes. */
  minutes: number | null;
  /** Times in UTC milliseconds; `until` is excluded. */
  since: number | null;
  until: number | null;
  limit: number;
}

const RANGE = 'organization_id = :organizationId and seq < :before and seq >= :from';
const newest = (condition: string, index = '') =>
  `select * from audit_log ${index} where ${RANGE} ${condition} order by seq desc limit :examine`;

const OF_THE_KEY = `d.organization_id = :organizationId and d.key_id = :keyId
    and d.chain_id = (select chain_id from api_keys where organization_id = :organizationId and id = :keyId)`;

/**
 * The range of rows of one day of the key, to continue with. Ranges of neighboring days overlap after
 * a change of the time zone, so it is the one of three days that ends last.
 */
const rangeWhere = (condition: string) => `(select r.day from (
      select d.day, d.last_seq from key_days d
      where ${OF_THE_KEY} and ${condition} and d.last_seq >= :from order by d.day desc limit 3) r
    order by r.last_seq desc limit 1)`;

/**
 * The numbers of the rows among which the key's writes are, newest first. The daily ledger says from
 * which row to which the key wrote on each day; this walks through these ranges.
 *
 * A join of the days with their rows is no substitute. Ordered by day, its pages skip rows where the
 * ranges of days overlap; ordered by number, each page reads all rows of the key.
 */
const WALK = `with recursive walk(seq, low, day) as (
    select min(last_seq, :before - 1), max(first_seq, :from), day from key_days d
    where ${OF_THE_KEY} and day = ${rangeWhere('d.first_seq < :before')}
    union all
    select iif(seq > low, seq - 1, min(d.last_seq, low - 1)), iif(seq > low, low, max(d.first_seq, :from)),
      iif(seq > low, walk.day, d.day)
    from walk left join key_days d on ${OF_THE_KEY} and d.day = case when seq = low and low > :from then
      ${rangeWhere("d.day <= date(walk.day, '+2 days') and d.first_seq < walk.low")} end
    where seq > low or d.day is not null
    limit :examine
  )`;

/**
 * The actions of one key, among rows of other actors, and the changes to it. The cross join makes SQLite
 * read one audit row for each number, instead of the log from its end.
 */
const ROWS_OF_KEY = `select * from (
    select * from (${WALK}
      select a.* from walk cross join audit_log a on a.organization_id = :organizationId and a.seq = walk.seq)
    union all
    select * from (${newest("and actor_type <> 'api_key' and target_id = :keyId", 'indexed by audit_log_user_target')})
  ) order by seq desc limit :examine`;

/** What a key wrote since an instant, from where, and how many rows were examined to find it. */
export interface KeyWritesRow {
  writes: number;
  addresses: number;
  examined: number;
}

export const countWritesOfKey = statement<
  { organizationId: string; keyId: string; before: number; from: number; examine: number; since: number },
  KeyWritesRow
>(`
  select ${columns<KeyWritesRow>({
    writes: 'count(*) filter (where a.actor_id = :keyId and a.at >= :since)',
    addresses: 'count(distinct iif(a.actor_id = :keyId and a.at >= :since, a.source_address, null))',
    examined: 'count(*)',
  })}
  from (${WALK}
    select a.* from walk cross join audit_log a on a.organization_id = :organizationId and a.seq = walk.seq) a`);

const ROWS_OF_ADMINISTRATOR = newest(
  "and actor_type <> 'api_key' and actor_id = :administratorId",
  'indexed by audit_log_actor',
);

const MATCHES = `(:actions is null or action in (select value from json_each(:actions))) and (:ticketId is null or ticket_id = :ticketId)
      and (:requestId is null or request_id = :requestId) and (:since is null or at >= :since) and (:until is null or at < :until)
      and (:minutes is null or (action glob 'time_entry.*' and exists (select 1 from time_entries e
        where e.organization_id = :organizationId and e.id = target_id and e.minutes >= :minutes)))`;
const matching = (rows: string, condition: string) =>
  `select seq from ${rows} where ${MATCHES} and ${condition} order by seq desc limit :limit`;

/** How many rows a page examined, the lowest `seq` of them, and when that row was written. */
export interface ExaminedWindow {
  examined: number;
  lowest: number | null;
  lowestAt: number | null;
  /** How many of them match; null if that was not counted. */
  matching: number | null;
}

/** SQLite takes the time from the row with the minimum. */
const examined = (rows: string, condition: string) =>
  `select count(*) as examined, min(seq) as lowest, at as lowestAt, count(*) filter (where ${MATCHES} and ${condition}) as matching
    from (${rows})`;

/** The first row of the range that a page of the whole log examines: its numbers have no gaps. */
const LOWEST = `max(:from, 1, min(:before, ${NEXT_SEQ}) - :examine)`;

/**
 * The matching rows of a range, and what was examined to find them: the next page begins there. The rows are read in
 * one range of the primary key, and no further than to the last row of a full page.
 */
const OF_THE_LOG = matching('audit_log', `organization_id = :organizationId and seq < :before and seq >= ${LOWEST}`);
export const findAuditPage = {
  rows: statement<WindowValues & FilterValues, AuditLogRow>(rowsOf(OF_THE_LOG)),
  examined: statement<WindowValues & FilterValues, ExaminedWindow>(`
    select min(:before, ${NEXT_SEQ}) - p.lowest as examined, p.lowest as lowest, null as matching,
      (select at from audit_log where organization_id = :organizationId and seq = p.lowest) as lowestAt
    from (select ${LOWEST} as lowest) p`),
};
/** How many rows of a range match, at most `limit`. */
export const countMatching = statement<WindowValues & FilterValues, { count: number }>(
  `select count(*) as count from (${OF_THE_LOG})`,
);

/** The same for some rows of the log and a condition. */
const pageOf = <Ids extends Record<keyof Ids, string>>(rows: string, condition: string) => ({
  rows: statement<WindowValues & FilterValues & Ids, AuditLogRow>(rowsOf(matching(`(${rows})`, condition))),
  examined: statement<WindowValues & FilterValues & Ids, ExaminedWindow>(examined(rows, condition)),
});

export const findAuditPageOfKey = pageOf<{ keyId: string }>(ROWS_OF_KEY, '(actor_id = :keyId or target_id = :keyId)');

/** The page of one administrator, and of one key that was changed if it is not empty. */
export const findAuditPageOfAdministrator = pageOf<{ administratorId: string; keyId: string }>(
  ROWS_OF_ADMINISTRATOR,
  "(:keyId = '' or target_id = :keyId)",
);

const AUDIT_ADMINISTRATOR = { id: text('u.id'), name: text('u.name'), isPresent: number('u.active and u.is_admin') };

const firstActor = (condition = '') => `select min(actor_id) from audit_log indexed by audit_log_actor
      where organization_id = :organizationId and actor_type <> 'api_key' ${condition}`;

/**
 * The users among the first `limit` actors that are not keys. Each step seeks the next actor in the
 * index, so the number of rows read does not depend on an actor's activity.
 */
export const findAuditAdministrators = statement<
  { organizationId: string; limit: number },
  RowOf<typeof AUDIT_ADMINISTRATOR>
>(`
  with recursive actors(id) as (
    select (${firstActor()})
    union all
    select (${firstActor('and actor_id > actors.id')}) from actors where actors.id is not null
    limit :limit
  )
  select ${columns(AUDIT_ADMINISTRATOR)}
  from actors cross join users u on u.organization_id = :organizationId and u.id = actors.id`);

/** The first `seq` not earlier than `at` (UTC milliseconds), or the next free one: a binary search in the database. */
export const findFirstSeqSince = statement<{ organizationId: string; at: number }, { seq: number }>(`
  with recursive search(low, high) as (
    select 1, (select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)
    union all
    select iif(a.at >= :at, low, (low + high) / 2 + 1), iif(a.at >= :at, (low + high) / 2, high)
    from search join audit_log a on a.organization_id = :organizationId and a.seq = (low + high) / 2
    where low < high
  )
  select low as seq from search where low = high`);

/** The audit rows of the records with this id, or with the id that a kind derives from an Idempotency-Key. */
const RECORDS = RECORD_KIND_NAMES.map(
  (kind) =>
    `select audit_seq from ${RECORD_TABLES[kind].table} where organization_id = :organizationId and id in (:id, :${kind})`,
);

export const findAuditRowsAbout = statement<
  { organizationId: string; id: string } & Record<RecordKind, string>,
  AuditLogRow
>(
  rowsOf(
    `select * from (
    ${RECORDS.join(' union all ')}
    union all
    select * from (select seq from audit_log indexed by audit_log_user_target
      where organization_id = :organizationId and actor_type <> 'api_key' and target_id = :id order by seq desc limit 50))`,
    AUDIT_LOG_ROW.text,
  ),
);

/** The ticket with this id: no row if the directory does not have it. */
export const findTicket = statement<{ organizationId: string; id: string }, { id: string }>(
  'select t.id as id from tickets t where t.organization_id = :organizationId and t.id = :id',
);
