import type { Scope } from '../../domain/scopes.ts';
import { LATEST_ROW } from '../audit/audit-columns.ts';
import type { KeyRow } from '../keys/find-key.ts';
import type { Fields } from '../statement.ts';

// The common parts of the record tables. Every condition finds single rows by unique keys that
// begin with the organization, so the cost of a write does not grow with the data. Flags are
// compared with literals (`is_service = 1`): SQLite uses a partial index only if the query contains
// its condition, not a bound parameter.

/** Where a kind of record is stored. `Row` is a record as the PSA reads it, including its text. */
export interface RecordTable<Row> {
  table: string;
  /** The column with the text from the caller. A redaction replaces it. */
  textColumn: string;
  fields: Fields<Row>;
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
 * The key by id and hash. The plus sign keeps SQLite from using the index of hashes, which would
 * read one row more.
 */
const SAME_KEY = 'k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash';

/** The condition that the key is live at this moment and holds the scope. */
export function keyMay(scope: Scope): string {
  return `${SAME_KEY} and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > :now) and instr(' ' || k.scopes || ' ', ' ${scope} ') > 0`;
}

/** The parameters of every explanation. */
export interface ExplainValues {
  organizationId: string;
  keyId: string;
  keyHash: string;
  id: string;
  ticketId: string;
}

/**
 * Why nothing was inserted: the key, whether ticket and credited user were found (0 or 1; 1 if the
 * kind needs no user), and the existing record with the id, if any.
 */
export type Explanation<Row> = KeyRow & { ticketFound: number; userFound: number } & (Row | { id: null });

/** The rows that explain a write: record `r` of `table`, and ticket and company if active. */
export function fromExplained(table: string): string {
  return `from api_keys k
  join organizations o on o.id = :organizationId
  left join ${table} r on r.organization_id = :organizationId and r.id = :id
  left join tickets t on ${OPEN_TICKET}
  left join companies c on ${ACTIVE_COMPANY}`;
}

/** The condition that finds the key to explain, whatever has become of it. */
export const EXPLAINED_KEY = SAME_KEY;
