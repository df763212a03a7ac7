import { RECORD_KINDS, type RecordKind } from '../../domain/record-kinds.ts';
import { type KeyRow, PRINCIPAL_COLUMNS } from '../keys/find-key-statements.ts';
import { columns, type Fields, number, type RowOf } from '../statement.ts';
import { ALL_RECORDS } from './key-days.ts';

// The common parts of the record tables, and the parameters and rows of a write. Its statements are in the file of each
// kind. They find single rows by unique keys that begin with the organization, and the ledger's row of each key of the
// chain that wrote on that day, so the cost of a write does not grow with the data. Flags are compared with literals
// (`is_service = 1`): SQLite uses a partial index only if the query contains its condition, not a bound parameter. The
// plus sign of `+k.hash` keeps SQLite from using the index of hashes, which would read one row more.

/** Where a kind of record is stored. `Row` is a record as the PSA reads it, including its text. */
export interface RecordTable<Row> {
  table: string;
  fields: Fields<Row>;
}

/** What every write returns. `requestId` identifies the request's own row, `requestDigest` a different request. */
export interface StoredRecord {
  id: string;
  ticketId: string;
  createdAt: number;
  requestId: string;
  requestDigest: string;
}

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
  /** The time zone of `day`. Nothing is inserted if the organization has another one now. */
  timeZone: string;
  /** Calendar date of the write in that zone, `YYYY-MM-DD`. */
  day: string;
  chainId: string;
  /** The networks that were checked. Nothing is inserted if the key has others now. */
  allowedNetworks: string;
  /** The expiry and the own limit that the response shows. Nothing is inserted if the key has others now. */
  expiresAt: number | null;
  dayLimitRecords: number | null;
  minutes: number;
  bytes: number;
  keyDayRecords: number | null;
  keyDayBytes: number | null;
  organizationDayRecords: number | null;
  organizationDayBytes: number | null;
}

/** An insert also returns how many records the key's chain had written on that day before. */
export interface Inserted {
  chainRecords: number;
}

export type ExplainValues = Pick<
  InsertValues,
  'organizationId' | 'keyId' | 'keyHash' | 'id' | 'ticketId' | 'chainId' | 'day'
>;

/**
 * Why nothing was inserted: the key, what it and its organization have written on that day, whether ticket and credited
 * user were found (1 if the kind needs no user), and the existing record with the id, if any. All flags are
 * 0 or 1.
 */
export type Explanation<Row> = KeyRow & WrittenOfDay & ExplanationFlags & (Row | { id: null });

interface ExplanationFlags {
  /** Not if the key is limited to other companies: then `otherCompany`. */
  ticketFound: number;
  otherCompany: number;
  userFound: number;
  /** Whether the key is not limited to companies, or a key of its chain wrote the record. */
  fromOwnChain: number;
  /** Whether the record is on a ticket that a key with companies may write to; its own activity does not matter. */
  recordAdmitted: number;
}

/** Condition: the key `k` may write to the tickets of the company. Ids contain no spaces. */
const admitsCompany = (company: string) =>
  `(k.companies = '' or instr(' ' || k.companies || ' ', ' ' || ${company} || ' ') > 0)`;

const LATEST_AUDIT_ROW = `left join audit_log p on p.organization_id = :organizationId
    and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)`;
const OF_THE_KEY = 'where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash';

/** The rows that an insert reads: the key `k`, its organization `o`, the ticket `t`, and the latest audit row `p`. */
export const INSERTED_FROM = `from api_keys k
  join organizations o on o.id = :organizationId and o.active = 1 and o.has_psa = 1 and o.time_zone = :timeZone
  join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
  join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
    and ${admitsCompany('c.id')}
  ${LATEST_AUDIT_ROW}`;

/** The conditions of an insert, and the columns that it returns. `fields` are those of the kind. */
export const insertedIf = (kind: RecordKind, fields = '') => `${OF_THE_KEY}
    and k.chain_id = :chainId and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)
    and instr(' ' || k.scopes || ' ', ' ${RECORD_KINDS[kind].scope} ') > 0
    and k.allowed_networks = :allowedNetworks
    and k.expires_at is :expiresAt and k.day_limit_records is :dayLimitRecords
    and ${WITHIN_DAY_LIMITS}
  on conflict (organization_id, id) do nothing
  returning
    id, ticket_id as ticketId, created_at as createdAt, request_id as requestId, request_digest as requestDigest,${fields}
    (select coalesce(sum(${ALL_RECORDS}), 0) from key_days
      where organization_id = :organizationId and chain_id = :chainId and day = :day) as chainRecords`;

/**
 * Why a record was not inserted; no row if the key is gone. `r` is the record with the id, `w` the key that wrote it, if that
 * is of the chain of `k`. `fields` are those of the kind. `creditedUser` finds the user `u`, if the kind needs one.
 */
export const explained = (table: string, fields = '', creditedUser?: string) => `
  select
    ${PRINCIPAL_COLUMNS},
    ${WRITTEN_OF_DAY},
    r.id as id, r.ticket_id as ticketId, r.created_at as createdAt, r.request_id as requestId, r.request_digest as requestDigest,${fields}
    c.id is not null and ${admitsCompany('t.company_id')} as ticketFound,
    t.id is not null and not ${admitsCompany('t.company_id')} as otherCompany,
    k.companies = '' or w.id is not null as fromOwnChain,
    rc.id is not null and ${admitsCompany('rt.company_id')} as recordAdmitted,
    ${creditedUser === undefined ? '1' : 'u.id is not null'} as userFound
  from api_keys k
  join organizations o on o.id = :organizationId
  left join ${table} r on r.organization_id = :organizationId and r.id = :id
  left join api_keys w on w.organization_id = :organizationId and w.chain_id = k.chain_id
    and w.id = iif(k.companies = '', null, r.key_id)
  left join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
  left join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
  left join tickets rt on rt.organization_id = :organizationId
    and rt.id = iif(k.companies = '', null, r.ticket_id)
  left join companies rc on rc.organization_id = :organizationId and rc.id = rt.company_id and rc.active = 1
  join (
    select coalesce(sum(${ALL_RECORDS}), 0) as records, coalesce(sum(minutes), 0) as minutes,
      coalesce(sum(bytes), 0) as bytes
    from key_days where organization_id = :organizationId and chain_id = :chainId and day = :day) used
  ${LATEST_AUDIT_ROW}${creditedUser === undefined ? '' : `\n  left join users u on ${creditedUser}`}
  ${OF_THE_KEY}`;

// The daily limits in the statements of a write. They need the key `k`, the latest audit row `p` and
// the parameters of `InsertValues`.

/**
 * What the organization has written on `:day`: the total on the latest audit row, if that is of this
 * day. If it is of a later day, the ledger's sum, which reads the organization's keys: only after a
 * change of the time zone, or for a write that took long at midnight.
 */
const ofOrganization = (total: 'day_records' | 'day_bytes', counted: string) => `case
      when :day = p.day then p.${total}
      when :day < p.day then (
        select coalesce(sum(${counted}), 0) from api_keys h
        cross join key_days on key_days.organization_id = h.organization_id
          and key_days.chain_id = h.chain_id and key_days.day = :day
        where h.organization_id = :organizationId and h.id = h.chain_id)
      else 0 end`;
const ORGANIZATION_RECORDS = ofOrganization('day_records', ALL_RECORDS);
const ORGANIZATION_BYTES = ofOrganization('day_bytes', 'bytes');

/** The record fits into the daily limits. Compared in the write's transaction, so the limits are exact. */
const WITHIN_DAY_LIMITS = `(
      select (:keyDayRecords is null or coalesce(sum(${ALL_RECORDS}), 0) + 1 <= :keyDayRecords)
        and (k.day_limit_records is null or coalesce(sum(${ALL_RECORDS}), 0) + 1 <= k.day_limit_records)
        and (:keyDayBytes is null or coalesce(sum(bytes), 0) + :bytes <= :keyDayBytes)
        and (:minutes = 0 or (k.day_limit_minutes is null or coalesce(sum(minutes), 0) + :minutes <= k.day_limit_minutes))
      from key_days where organization_id = :organizationId and chain_id = :chainId and day = :day)
    and (:organizationDayRecords is null or ${ORGANIZATION_RECORDS} + 1 <= :organizationDayRecords)
    and (:organizationDayBytes is null or ${ORGANIZATION_BYTES} + :bytes <= :organizationDayBytes)`;

/** The writes of a key's chain (its sums are `used`) and of its organization on a day. */
const WRITTEN = {
  chainRecords: number('used.records'),
  chainMinutes: number('used.minutes'),
  chainBytes: number('used.bytes'),
  organizationRecords: number(ORGANIZATION_RECORDS),
  organizationBytes: number(ORGANIZATION_BYTES),
};

type WrittenOfDay = RowOf<typeof WRITTEN>;

const WRITTEN_OF_DAY = columns(WRITTEN);
