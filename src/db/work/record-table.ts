import type { AuditAction } from '../../domain/audit-actions.ts';
import type { Scope } from '../../domain/scopes.ts';
import { keysOf } from '../../lib/objects.ts';
import { LATEST_ROW } from '../audit/audit-columns.ts';
import type { KeyRow } from '../keys/find-key.ts';
import type { Fields } from '../statement.ts';
import { ALL_RECORDS, OF_THE_CHAIN, sum, WRITTEN_BY_CHAIN } from './key-days.ts';

// The common parts of the record tables. Conditions find single rows by unique keys that begin with
// the organization, and the ledger's row of each key of the chain that wrote on that day, so the cost
// of a write does not grow with the data. Flags are
// compared with literals (`is_service = 1`): SQLite uses a partial index only if the query contains
// its condition, not a bound parameter.

/** Where a kind of record is stored. `Row` is a record as the PSA reads it, including its text. */
export interface RecordTable<Row> {
  table: string;
  /** The column with the text from the caller. A redaction replaces it. */
  textColumn: string;
  fields: Fields<Row>;
  archived: ArchivedTable;
}

/** What a kind of record leaves when it is archived, see `modules/archive/step-statements.ts`. */
interface ArchivedTable {
  table: string;
  /** Its columns in addition to those of every kind, with their values from the record `r`. */
  columns: Readonly<Record<string, string>>;
  /** The fields that a row `s` of it has in addition to those of every kind: SQL expressions. */
  fields: Readonly<Record<string, string>>;
  /** The actions whose audit row takes the record into the archive. */
  actions: readonly AuditAction[];
}

/**
 * What every write returns. `requestId` identifies the row of this request, `requestDigest` detects
 * a replay of a different request.
 */
export interface StoredRecord {
  id: string;
  ticketId: string;
  createdAt: number;
  requestId: string;
  requestDigest: string;
}

/** The columns of a `StoredRecord`. */
export const STORED_FIELDS: Fields<StoredRecord> = {
  id: 'id',
  ticketId: 'ticket_id',
  createdAt: 'created_at',
  requestId: 'request_id',
  requestDigest: 'request_digest',
};

/**
 * The same of an archived record `s`. `requestDigest` is the beginning of the digest, or empty if
 * the record was redacted. The id is the one that was looked for.
 */
export const ARCHIVED_FIELDS: Fields<StoredRecord> = {
  id: 'iif(s.organization_id is null, null, :id)',
  ticketId: 's.ticket_id',
  createdAt: 's.created_at',
  requestId: "''",
  requestDigest: 'lower(hex(s.request_digest))',
};

/** The select list for the record `r`, or for what is left of it as `s` if it is archived. */
export function explainedRecord<Row>(fields: Fields<Row>, archived: Fields<Row>): string {
  return keysOf(fields)
    .map((field) => `coalesce(r.${fields[field]}, ${archived[field]}) as ${field}`)
    .join(', ');
}

/** The parameters of every insert. Each kind adds its own. */
export interface InsertValues {
  organizationId: string;
  keyId: string;
  keyHash: string;
  /** UTC milliseconds, read just before the batch is sent. */
  now: number;
  id: string;
  ticketId: string;
  requestId: string;
  requestDigest: string;
  /**
   * The time zone in which the day of the write was found. Nothing is inserted if the organization
   * has another one now.
   */
  timeZone: string;
  /** Calendar date of the write in that zone, `YYYY-MM-DD`. */
  day: string;
  chainId: string;
  /** The networks that were checked. Nothing is inserted if the key has others now. */
  allowedNetworks: string;
  minutes: number;
  /** Bytes of the text in UTF-8. */
  bytes: number;
  /** The deployment's daily limits. */
  keyDayRecords: number | null;
  keyDayBytes: number | null;
  organizationDayRecords: number | null;
  organizationDayBytes: number | null;
}

/** The values of the columns that every record has. */
export const STORED_VALUES = {
  organization_id: 'k.organization_id',
  id: ':id',
  ticket_id: 't.id',
  created_at: ':now',
  key_id: 'k.id',
  request_id: ':requestId',
  request_digest: ':requestDigest',
  audit_seq: 'coalesce(p.seq, 0) + 1',
};

const OPEN_TICKET = 't.organization_id = :organizationId and t.id = :ticketId and t.active = 1';
const ACTIVE_COMPANY = 'c.organization_id = :organizationId and c.id = t.company_id and c.active = 1';

/**
 * The rows that a write requires: key `k`, organization `o`, ticket `t` and its company `c`; and the
 * latest audit row `p`, if there is one.
 */
export const FROM_WRITABLE_TICKET = `from api_keys k
  join organizations o on o.id = :organizationId and o.active = 1 and o.has_psa = 1 and o.time_zone = :timeZone
  join tickets t on ${OPEN_TICKET}
  join companies c on ${ACTIVE_COMPANY}
  ${LATEST_ROW}`;

/**
 * What the organization has written on `:day`: the total on the latest audit row, if that is of this
 * day. If it is of a later day, the ledger's sum, which reads the organization's keys: only after a
 * change of the time zone, or for a write that took long at midnight.
 */
const ofTheDay = (total: string, counted: string) => `case when :day = p.day then p.${total} when :day < p.day then (
      select ${sum(counted)} from api_keys h cross join key_days on key_days.organization_id = h.organization_id
        and key_days.chain_id = h.chain_id and key_days.day = :day
      where h.organization_id = :organizationId and h.id = h.chain_id) else 0 end`;
const ORGANIZATION_RECORDS = ofTheDay('day_records', ALL_RECORDS);
const ORGANIZATION_BYTES = ofTheDay('day_bytes', 'bytes');
const within = (used: string, added: string, limit: string) => `(${limit} is null or ${used} + ${added} <= ${limit})`;

/**
 * The condition that the record fits into the daily limits. All of them are compared in the
 * transaction that writes, so simultaneous writes admit exactly the limit.
 */
const WITHIN_DAY_LIMITS = [
  `(select ${[
    within(sum(ALL_RECORDS), '1', ':keyDayRecords'),
    within(sum(ALL_RECORDS), '1', 'k.day_limit_records'),
    within(sum('bytes'), ':bytes', ':keyDayBytes'),
    `(:minutes = 0 or ${within(sum('minutes'), ':minutes', 'k.day_limit_minutes')})`,
  ].join(' and ')} from key_days where ${OF_THE_CHAIN})`,
  within(ORGANIZATION_RECORDS, '1', ':organizationDayRecords'),
  within(ORGANIZATION_BYTES, ':bytes', ':organizationDayBytes'),
].join('\n    and ');

/**
 * What an insert returns in addition to the record: how many records the chain of the key had
 * written on that day before.
 */
export interface Inserted {
  chainRecords: number;
}

export const RETURNED = `(select ${sum(ALL_RECORDS)} from key_days where ${OF_THE_CHAIN}) as chainRecords`;

/**
 * The key by id and hash. The plus sign keeps SQLite from using the index of hashes, which would
 * read one row more.
 */
const SAME_KEY = 'k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash';

/**
 * The condition that the key is live at this moment, holds the scope, and may write one more record
 * on this day.
 */
export function keyMay(scope: Scope): string {
  return `${SAME_KEY} and k.chain_id = :chainId and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > :now) and instr(' ' || k.scopes || ' ', ' ${scope} ') > 0
    and k.allowed_networks = :allowedNetworks and ${WITHIN_DAY_LIMITS}`;
}

/** The parameters of every explanation. */
export interface ExplainValues {
  organizationId: string;
  keyId: string;
  keyHash: string;
  id: string;
  ticketId: string;
  chainId: string;
  day: string;
}

/**
 * Why nothing was inserted: the key, what it and its organization have written on that day, whether
 * ticket and credited user were found (0 or 1; 1 if the kind needs no user), and the existing record
 * with the id, if any.
 */
export type Explanation<Row> = KeyRow &
  Inserted & {
    chainMinutes: number;
    chainBytes: number;
    organizationRecords: number;
    organizationBytes: number;
    ticketFound: number;
    userFound: number;
  } & (Row | { id: null });

/** What was written on the day, see `WITHIN_DAY_LIMITS`. */
export const EXPLAINED_DAY = `used.records as chainRecords, used.minutes as chainMinutes, used.bytes as chainBytes,
    ${ORGANIZATION_RECORDS} as organizationRecords, ${ORGANIZATION_BYTES} as organizationBytes`;

/**
 * The rows that explain a write: the record `r`, or what is left of it as `s` if it is archived, and
 * ticket and company if active.
 */
export function fromExplained({ table, archived }: { table: string; archived: ArchivedTable }): string {
  return `from api_keys k
  join organizations o on o.id = :organizationId
  left join ${table} r on r.organization_id = :organizationId and r.id = :id
  left join ${archived.table} s on s.organization_id = :organizationId and s.id = iif(r.id is null, ${idBytes(':id')}, null)
  left join tickets t on ${OPEN_TICKET}
  left join companies c on ${ACTIVE_COMPANY}
  join ${WRITTEN_BY_CHAIN} used
  ${LATEST_ROW}`;
}

/** The id of a record, a UUID as text, as the 16 bytes that an archived record has. */
export const idBytes = (id: string) => `unhex(replace(${id}, '-', ''))`;

/** The condition that finds the key to explain, whatever has become of it. */
export const EXPLAINED_KEY = SAME_KEY;
