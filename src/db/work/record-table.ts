import type { KeyRow } from '../keys/find-key-statements.ts';
import type { Fields } from '../statement.ts';
import type { WrittenOfDay } from './day-limits.ts';
import type { DeliveryRow } from './delivery.ts';

// The common parts of the record tables, and the parameters and rows of a write. Its statements are in the file of each
// kind. They find single rows by unique keys that begin with the organization, and the ledger's row of each key of the
// chain that wrote on that day, so the cost of a write does not grow with the data. Flags are compared with literals
// (`is_service = 1`): SQLite uses a partial index only if the query contains its condition, not a bound parameter. The
// plus sign of `+k.hash` keeps SQLite from using the index of hashes, which would read one row more.

/** Where a kind of record is stored. `Row` is a record as the PSA reads it, including its text. */
export interface RecordTable<Row> {
  table: string;
  fields: Fields<Row>;
  archived: ArchivedTable;
}

/** The stub that a kind of record leaves when it is archived, see `modules/archive/step-statements.ts`. */
interface ArchivedTable {
  table: string;
  /** Its columns in addition to those of every kind, with their values from the record `r`. */
  columns: Readonly<Record<string, string>>;
  /** The fields that a row `s` of it has in addition to those of every kind: SQL expressions. */
  fields: Readonly<Record<string, string>>;
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
 * user were found (1 if the kind needs no user), and the existing record with the id, if any, with how far the PSA
 * has it. `requestDigest` of an archived record is the beginning of the digest, or empty if the record was redacted. All
 * flags are 0 or 1.
 */
export type Explanation<Row> = KeyRow & WrittenOfDay & DeliveryRow & ExplanationFlags & (Row | { id: null });

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

/** The id of a record, a UUID as text, as the 16 bytes that an archived record has. */
export const idBytes = (id: string) => `unhex(replace(${id}, '-', ''))`;

/** The opposite: 16 bytes as the text of a UUID. */
export const idText = (
  bytes: string,
) => `lower(substr(hex(${bytes}), 1, 8) || '-' || substr(hex(${bytes}), 9, 4) || '-' ||
    substr(hex(${bytes}), 13, 4) || '-' || substr(hex(${bytes}), 17, 4) || '-' || substr(hex(${bytes}), 21))`;

/** Condition: the key `k` may write to the tickets of the company. Ids contain no spaces. */
export const admitsCompany = (company: string) =>
  `(k.companies = '' or instr(' ' || k.companies || ' ', ' ' || ${company} || ' ') > 0)`;

/**
 * For a key that is limited to companies, the ticket `rt` and active company `rc` of the record `r` or its stub `s`. For
 * every other key no row of them is read.
 */
export const JOIN_ORIGIN = `
  left join tickets rt on rt.organization_id = :organizationId
    and rt.id = iif(k.companies = '', null, coalesce(r.ticket_id, s.ticket_id))
  left join companies rc on rc.organization_id = :organizationId and rc.id = rt.company_id and rc.active = 1`;

/** What decides whether a key gets the replay of a record `r`, or of its stub `s`: see `Explanation`. `w`: see `DELIVERY_JOINS`. */
export const TICKET_AND_ORIGIN = `c.id is not null and ${admitsCompany('t.company_id')} as ticketFound,
    t.id is not null and not ${admitsCompany('t.company_id')} as otherCompany,
    k.companies = '' or w.id is not null as fromOwnChain,
    rc.id is not null and ${admitsCompany('rt.company_id')} as recordAdmitted`;
