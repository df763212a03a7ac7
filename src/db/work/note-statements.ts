import { RECORD_KINDS } from '../../domain/record-kinds.ts';
import type { StoredRecords } from '../../domain/stored-json.ts';
import { PRINCIPAL_COLUMNS } from '../keys/find-key-statements.ts';
import { statement } from '../statement.ts';
import { WITHIN_DAY_LIMITS, WRITTEN_OF_DAY } from './day-limits.ts';
import { DELIVERY_COLUMNS, DELIVERY_JOINS } from './delivery.ts';
import { ALL_RECORDS } from './key-days.ts';
import {
  admitsCompany,
  type ExplainValues,
  type Explanation,
  type Inserted,
  type InsertValues,
  JOIN_ORIGIN,
  type RecordTable,
  type StoredRecord,
  TICKET_AND_ORIGIN,
} from './record-table.ts';

export type StoredNote = StoredRecord;

export const NOTES: RecordTable<StoredRecords['note']> = {
  table: 'notes',
  fields: { id: 'id', ticketId: 'ticket_id', createdAt: 'created_at', message: 'message' },
  archived: { table: 'archived_notes', columns: {}, fields: {} },
};

/** Inserts the note if key, plan and ticket allow it and the id is new; returns it or nothing. */
export const insertNote = statement<InsertValues & { message: string }, StoredNote & Inserted>(`
  insert into notes (
    organization_id, id, ticket_id, created_at, key_id,
    request_id, request_digest, audit_seq, message)
  select
    k.organization_id, :id, t.id, :now, k.id,
    :requestId, :requestDigest, coalesce(p.seq, 0) + 1, :message
  from api_keys k
  join organizations o on o.id = :organizationId and o.active = 1 and o.has_psa = 1 and o.time_zone = :timeZone
  join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
  join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
    and ${admitsCompany('c.id')}
  left join audit_log p on p.organization_id = :organizationId
    and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
  where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash
    and k.chain_id = :chainId and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)
    and instr(' ' || k.scopes || ' ', ' ${RECORD_KINDS.note.scope} ') > 0
    and k.allowed_networks = :allowedNetworks
    and k.expires_at is :expiresAt and k.day_limit_records is :dayLimitRecords
    and ${WITHIN_DAY_LIMITS}
  on conflict (organization_id, id) do nothing
  returning
    id, ticket_id as ticketId, created_at as createdAt, request_id as requestId, request_digest as requestDigest,
    (select coalesce(sum(${ALL_RECORDS}), 0) from key_days
      where organization_id = :organizationId and chain_id = :chainId and day = :day) as chainRecords`);

/** Why a note was not inserted; no row if the key is gone. `r`: the record with the id, `s`: its archived rest. */
export const explainNote = statement<ExplainValues, Explanation<StoredNote>>(`
  select
    ${PRINCIPAL_COLUMNS},
    ${WRITTEN_OF_DAY},
    ${DELIVERY_COLUMNS},
    coalesce(r.id, iif(s.organization_id is null, null, :id)) as id,
    coalesce(r.ticket_id, s.ticket_id) as ticketId,
    coalesce(r.created_at, s.created_at) as createdAt,
    coalesce(r.request_id, '') as requestId,
    coalesce(r.request_digest, lower(hex(s.request_digest))) as requestDigest,
    ${TICKET_AND_ORIGIN},
    1 as userFound
  from api_keys k
  join organizations o on o.id = :organizationId
  left join notes r on r.organization_id = :organizationId and r.id = :id
  left join archived_notes s on s.organization_id = :organizationId
    and s.id = iif(r.id is null, unhex(replace(:id, '-', '')), null)
  ${DELIVERY_JOINS}
  left join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
  left join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1${JOIN_ORIGIN}
  join (
    select coalesce(sum(${ALL_RECORDS}), 0) as records, coalesce(sum(minutes), 0) as minutes,
      coalesce(sum(bytes), 0) as bytes
    from key_days where organization_id = :organizationId and chain_id = :chainId and day = :day) used
  left join audit_log p on p.organization_id = :organizationId
    and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
  where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash`);
