import { type Placeholder, type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { RECORD_KINDS, type RecordKind } from '../../domain/record-kinds.ts';
import { anyKey, latest, recordCompany, recordTicket, writer } from '../aliases.ts';
import { KEY, type KeyRow } from '../keys/find-key-statements.ts';
import { type Database, type Fields, fields, type Input, type RowOf, template } from '../query.ts';
import { auditLog } from '../schema/audit.ts';
import { companies, organizations, tickets } from '../schema/directory.ts';
import { apiKeys } from '../schema/keys.ts';
import { connections } from '../schema/modules.ts';
import { keyDays } from '../schema/work.ts';
import { ALL_RECORDS, sum } from './key-days.ts';
import { RECORD_TABLES } from './record-tables.ts';

// What the inserts and explanations of all kinds of records have in common. They find single rows by unique keys that begin
// with the organization, and the ledger's row of each key of the chain that wrote on that day, so the cost of a write does
// not grow with the data. Flags are compared with literals: SQLite uses a partial index only if the query contains its
// condition, not a bound value.

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

export type ExplainValues = Pick<
  InsertValues,
  'organizationId' | 'keyId' | 'keyHash' | 'id' | 'ticketId' | 'chainId' | 'day'
>;

/** What every write returns. `requestId` identifies the request's own row, `requestDigest` a different request. */
export interface StoredRecord {
  id: string;
  ticketId: string;
  createdAt: number;
  requestId: string;
  requestDigest: string;
}

/** An insert also returns how many records the key's chain had written on that day before. */
export interface Inserted {
  chainRecords: number;
}

type Value = SQLWrapper | Placeholder | string | number | null;

/** Condition: the key may write to the tickets of a company. Ids contain no spaces. */
const admitsCompany = (company: SQLWrapper) =>
  sql`(${apiKeys.companies} = '' or instr(' ' || ${apiKeys.companies} || ' ', ' ' || ${company} || ' ') > 0)`;

export const latestAuditRow = (organizationId: Value) => sql`
  left join ${auditLog} ${latest} on ${latest.organizationId} = ${organizationId}
    and ${latest.seq} = (select max(${auditLog.seq}) from ${auditLog} where ${auditLog.organizationId} = ${organizationId})`;

/** The key of a write, by its id and its hash. */
const isTheKey = ({ organizationId, keyId, keyHash }: Input<ExplainValues>) =>
  sql`${apiKeys.organizationId} = ${organizationId} and ${apiKeys.id} = ${keyId} and ${apiKeys.hash} = ${keyHash}`;

const ofChain = ({ organizationId, chainId, day }: Input<ExplainValues>) => sql`
  from ${keyDays} where ${keyDays.organizationId} = ${organizationId} and ${keyDays.chainId} = ${chainId}
    and ${keyDays.day} = ${day}`;

/** How many records the chain of the key has written on the day. */
const chainRecords = (values: Input<ExplainValues>) => sql<number>`(select ${sum(ALL_RECORDS)} ${ofChain(values)})`;

/**
 * What the organization has written on the day: the total on the latest audit row, if that is of this day. If it is of a
 * later day, the ledger's sum, which reads the organization's keys: only after a change of the time zone, or for a write
 * that took long at midnight.
 */
const ofOrganization = (
  { organizationId, day }: Input<ExplainValues>,
  total: SQLWrapper,
  counted: SQLWrapper,
) => sql<number>`case
  when ${day} = ${latest.day} then ${total}
  when ${day} < ${latest.day} then (
    select ${sum(counted)} from ${apiKeys} ${anyKey}
    cross join ${keyDays} on ${keyDays.organizationId} = ${anyKey.organizationId}
      and ${keyDays.chainId} = ${anyKey.chainId} and ${keyDays.day} = ${day}
    where ${anyKey.organizationId} = ${organizationId} and ${anyKey.id} = ${anyKey.chainId})
  else 0 end`;
const organizationRecords = (values: Input<ExplainValues>) => ofOrganization(values, latest.dayRecords, ALL_RECORDS);
const organizationBytes = (values: Input<ExplainValues>) => ofOrganization(values, latest.dayBytes, keyDays.bytes);

/** The record fits into the daily limits. Compared in the write's transaction, so the limits are exact. */
const withinDayLimits = (values: Input<InsertValues>) => sql`(
    select (${values.keyDayRecords} is null or ${sum(ALL_RECORDS)} + 1 <= ${values.keyDayRecords})
      and (${apiKeys.dayLimitRecords} is null or ${sum(ALL_RECORDS)} + 1 <= ${apiKeys.dayLimitRecords})
      and (${values.keyDayBytes} is null or ${sum(keyDays.bytes)} + ${values.bytes} <= ${values.keyDayBytes})
      and (${values.minutes} = 0 or (${apiKeys.dayLimitMinutes} is null
        or ${sum(keyDays.minutes)} + ${values.minutes} <= ${apiKeys.dayLimitMinutes}))
    ${ofChain(values)})
  and (${values.organizationDayRecords} is null
    or ${organizationRecords(values)} + 1 <= ${values.organizationDayRecords})
  and (${values.organizationDayBytes} is null
    or ${organizationBytes(values)} + ${values.bytes} <= ${values.organizationDayBytes})`;

/**
 * The rows that an insert reads, and its conditions: the key, its organization, the ticket with its company, the newest
 * audit row, and what `joins` adds.
 */
export const admitted = (kind: RecordKind, values: Input<InsertValues>, joins: SQL = sql``) => sql`
  from ${apiKeys}
  join ${organizations} on ${organizations.id} = ${values.organizationId} and ${organizations.active} = 1
    and ${organizations.hasPsa} = 1 and ${organizations.timeZone} = ${values.timeZone}
  join ${tickets} on ${tickets.organizationId} = ${values.organizationId} and ${tickets.id} = ${values.ticketId}
    and ${tickets.active} = 1
  join ${companies} on ${companies.organizationId} = ${values.organizationId} and ${companies.id} = ${tickets.companyId}
    and ${companies.active} = 1 and ${admitsCompany(companies.id)}
  ${latestAuditRow(values.organizationId)}
  ${joins}
  where ${isTheKey(values)} and ${apiKeys.chainId} = ${values.chainId} and ${apiKeys.revokedAt} is null
    and (${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > ${values.now})
    and instr(' ' || ${apiKeys.scopes} || ' ', ${sql.raw(`' ${RECORD_KINDS[kind].scope} '`)}) > 0
    and ${apiKeys.allowedNetworks} = ${values.allowedNetworks}
    and ${apiKeys.expiresAt} is ${values.expiresAt} and ${apiKeys.dayLimitRecords} is ${values.dayLimitRecords}
    and ${withinDayLimits(values)}`;

/** The values that a new record of every kind has, from the rows that `admitted` reads. */
export const recordValues = (values: Input<InsertValues>) => ({
  organizationId: apiKeys.organizationId,
  id: values.id,
  ticketId: tickets.id,
  createdAt: values.now,
  keyId: apiKeys.id,
  requestId: values.requestId,
  requestDigest: values.requestDigest,
  auditSeq: sql`coalesce(${latest.seq}, 0) + 1`,
});

/** The fields that every insert returns, in addition to those of its kind. */
export const returned = (kind: RecordKind, values: Input<InsertValues>) => {
  const { id, ticketId, createdAt, requestId, requestDigest } = RECORD_TABLES[kind];
  return { id, ticketId, createdAt, requestId, requestDigest, chainRecords: chainRecords(values) };
};

/**
 * Why nothing was inserted: the key, what it and its organization have written on that day, whether ticket and credited
 * user were found (1 if the kind needs no user), and the existing record with the id, if there is one. All flags are 0 or 1.
 */
export type Explanation<Row> = KeyRow & WrittenOfDay & ExplanationFlags & AdapterState & (Row | { id: null });

interface WrittenOfDay {
  chainRecords: number;
  chainMinutes: number;
  chainBytes: number;
  organizationRecords: number;
  organizationBytes: number;
}

interface AdapterState {
  /** When the organization's adapter reported, if its latest report has no failure. */
  connectedAt: number | null;
}

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

/** What the keys of a chain have written on a day. */
function usedOfDay(db: Database, { organizationId, chainId, day }: Input<ExplainValues>) {
  return db
    .select({
      records: sql<number>`${sum(ALL_RECORDS)}`.as('used_records'),
      minutes: sql<number>`${sum(keyDays.minutes)}`.as('used_minutes'),
      bytes: sql<number>`${sum(keyDays.bytes)}`.as('used_bytes'),
    })
    .from(keyDays)
    .where(
      sql`${keyDays.organizationId} = ${organizationId} and ${keyDays.chainId} = ${chainId} and ${keyDays.day} = ${day}`,
    )
    .as('used');
}

/** Explains why a record was not inserted; no row if the key is gone. `credited` finds the credited user, if the kind has one. */
export function explain<Own extends Fields>(
  db: Database,
  kind: RecordKind,
  values: Input<ExplainValues>,
  ownFields: Own,
  credited?: { joins: SQL; isFound: SQL<number> },
) {
  const { organizationId, id, ticketId } = values;
  const record = RECORD_TABLES[kind];
  const used = usedOfDay(db, values);
  const existing = {
    id: record.id,
    ticketId: record.ticketId,
    createdAt: record.createdAt,
    requestId: record.requestId,
    requestDigest: record.requestDigest,
    ...ownFields,
  };
  const reasons = {
    ...KEY,
    chainRecords: sql<number>`${used.records}`,
    chainMinutes: sql<number>`${used.minutes}`,
    chainBytes: sql<number>`${used.bytes}`,
    organizationRecords: organizationRecords(values),
    organizationBytes: organizationBytes(values),
    ticketFound: sql<number>`${companies.id} is not null and ${admitsCompany(tickets.companyId)}`,
    otherCompany: sql<number>`${tickets.id} is not null and not ${admitsCompany(tickets.companyId)}`,
    fromOwnChain: sql<number>`${apiKeys.companies} = '' or ${writer.id} is not null`,
    recordAdmitted: sql<number>`${recordCompany.id} is not null and ${admitsCompany(recordTicket.companyId)}`,
    userFound: credited?.isFound ?? sql<number>`1`,
    connectedAt: sql<number | null>`iif(${connections.failure} is null, ${connections.reportedAt}, null)`,
  };
  return template<RowOf<typeof reasons> & (RowOf<typeof existing> | { id: null })>(
    db,
    sql`
    select ${fields({ ...reasons, ...existing })}
    from ${apiKeys}
    join ${organizations} on ${organizations.id} = ${organizationId}
    left join ${record} on ${record.organizationId} = ${organizationId} and ${record.id} = ${id}
    left join ${apiKeys} ${writer} on ${writer.organizationId} = ${organizationId} and ${writer.id} = ${record.keyId}
      and ${writer.chainId} = ${apiKeys.chainId}
    left join ${tickets} on ${tickets.organizationId} = ${organizationId} and ${tickets.id} = ${ticketId} and ${tickets.active} = 1
    left join ${companies} on ${companies.organizationId} = ${organizationId} and ${companies.id} = ${tickets.companyId}
      and ${companies.active} = 1
    left join ${tickets} ${recordTicket} on ${recordTicket.organizationId} = ${organizationId}
      and ${recordTicket.id} = iif(${apiKeys.companies} = '', null, ${record.ticketId})
    left join ${companies} ${recordCompany} on ${recordCompany.organizationId} = ${organizationId}
      and ${recordCompany.id} = ${recordTicket.companyId} and ${recordCompany.active} = 1
    left join ${connections} on ${connections.organizationId} = ${organizationId}
    join ${used}
    ${latestAuditRow(organizationId)}
    ${credited?.joins ?? sql``}
    where ${isTheKey(values)}`,
  );
}
