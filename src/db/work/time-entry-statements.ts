import { RECORD_KINDS } from '../../domain/record-kinds.ts';
import type { StoredRecords } from '../../domain/stored-json.ts';
import { PRINCIPAL_COLUMNS } from '../keys/find-key-statements.ts';
import { type Fields, statement } from '../statement.ts';
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

type TimeEntryFields = Omit<StoredRecords['time_entry'], 'id' | 'ticketId' | 'createdAt' | 'description'>;

export type StoredTimeEntry = StoredRecord & TimeEntryFields;

const ARCHIVED_STATUS = "iif(s.approval_seq is null, 'SUBMITTED', iif(s.approved = 1, 'APPROVED', 'REJECTED'))";

export const TIME_ENTRIES: RecordTable<StoredRecords['time_entry']> = {
  table: 'time_entries',
  fields: {
    id: 'id',
    ticketId: 'ticket_id',
    createdAt: 'created_at',
    description: 'description',
    userId: 'user_id',
    minutes: 'minutes',
    billable: 'billable',
    workDate: 'work_date',
    hourlyRateMinor: 'hourly_rate_minor',
    agreementSource: 'agreement_source',
    status: 'status',
  },
  archived: {
    table: 'archived_time_entries',
    columns: {
      user_id: 'r.user_id',
      minutes: 'r.minutes',
      billable: 'r.billable',
      work_day: 'unixepoch(r.work_date) / 86400',
      hourly_rate_minor: 'r.hourly_rate_minor',
      by_agreement: "r.agreement_source = 'company_default'",
      approved: "r.status = 'APPROVED'",
      approval_seq: 'r.approval_seq',
    },
    fields: {
      userId: 's.user_id',
      minutes: 's.minutes',
      billable: 's.billable',
      workDate: "date(s.work_day * 86400, 'unixepoch')",
      hourlyRateMinor: 's.hourly_rate_minor',
      agreementSource: "iif(s.by_agreement = 1, 'company_default', 'organization_default')",
      status: ARCHIVED_STATUS,
    } satisfies Fields<TimeEntryFields>,
  },
};

export interface TimeEntryValues extends InsertValues {
  description: string;
  billable: number;
}

/** Finds the credited user `u`. Two conditions: one with `or` would read every user of the organization. */
const CREDITED_USER = {
  serviceAccount: 'u.organization_id = :organizationId and u.is_service = 1',
  technician: `u.organization_id = :organizationId and u.email = :userEmail
    and u.active = 1 and u.is_technician = 1 and u.is_service = 0`,
};

const insertTimeEntry = (creditedUser: string) => `
  insert into time_entries (
    organization_id, id, ticket_id, created_at, key_id,
    request_id, request_digest, audit_seq,
    user_id, minutes, description, billable, work_date,
    hourly_rate_minor,
    agreement_source,
    status, approval_seq)
  select
    k.organization_id, :id, t.id, :now, k.id,
    :requestId, :requestDigest, coalesce(p.seq, 0) + 1,
    u.id, :minutes, :description, :billable, :day,
    coalesce(g.hourly_rate_minor, o.default_hourly_rate_minor),
    iif(g.id is null, 'organization_default', 'company_default'),
    'SUBMITTED', null
  from api_keys k
  join organizations o on o.id = :organizationId and o.active = 1 and o.has_psa = 1 and o.time_zone = :timeZone
  join tickets t on t.organization_id = :organizationId and t.id = :ticketId and t.active = 1
  join companies c on c.organization_id = :organizationId and c.id = t.company_id and c.active = 1
    and ${admitsCompany('c.id')}
  left join audit_log p on p.organization_id = :organizationId
    and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
  join users u on ${creditedUser}
  left join agreements g on g.organization_id = :organizationId and g.company_id = t.company_id and g.active = 1
  where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash
    and k.chain_id = :chainId and k.revoked_at is null and (k.expires_at is null or k.expires_at > :now)
    and instr(' ' || k.scopes || ' ', ' ${RECORD_KINDS.time_entry.scope} ') > 0
    and k.allowed_networks = :allowedNetworks
    and k.expires_at is :expiresAt and k.day_limit_records is :dayLimitRecords
    and ${WITHIN_DAY_LIMITS}
  on conflict (organization_id, id) do nothing
  returning
    id, ticket_id as ticketId, created_at as createdAt, request_id as requestId, request_digest as requestDigest,
    user_id as userId, minutes, billable, work_date as workDate, hourly_rate_minor as hourlyRateMinor,
    agreement_source as agreementSource, status,
    (select coalesce(sum(${ALL_RECORDS}), 0) from key_days
      where organization_id = :organizationId and chain_id = :chainId and day = :day) as chainRecords`;

/** Inserts the entry, credited to the service account, if everything allows it and the id is new. */
export const insertServiceTimeEntry = statement<TimeEntryValues, StoredTimeEntry & Inserted>(
  insertTimeEntry(CREDITED_USER.serviceAccount),
);

/** The same, credited to the technician with this email address. */
export const insertTechnicianTimeEntry = statement<TimeEntryValues & { userEmail: string }, StoredTimeEntry & Inserted>(
  insertTimeEntry(CREDITED_USER.technician),
);

/** `r` is the record with the id, `s` its stub if it is archived. */
const explainTimeEntry = (creditedUser: string) => `
  select
    ${PRINCIPAL_COLUMNS},
    ${WRITTEN_OF_DAY},
    ${DELIVERY_COLUMNS},
    coalesce(r.id, iif(s.organization_id is null, null, :id)) as id,
    coalesce(r.ticket_id, s.ticket_id) as ticketId,
    coalesce(r.created_at, s.created_at) as createdAt,
    coalesce(r.request_id, '') as requestId,
    coalesce(r.request_digest, lower(hex(s.request_digest))) as requestDigest,
    coalesce(r.user_id, s.user_id) as userId,
    coalesce(r.minutes, s.minutes) as minutes,
    coalesce(r.billable, s.billable) as billable,
    coalesce(r.work_date, date(s.work_day * 86400, 'unixepoch')) as workDate,
    coalesce(r.hourly_rate_minor, s.hourly_rate_minor) as hourlyRateMinor,
    coalesce(r.agreement_source, iif(s.by_agreement = 1, 'company_default', 'organization_default')) as agreementSource,
    coalesce(r.status, ${ARCHIVED_STATUS}) as status,
    ${TICKET_AND_ORIGIN},
    u.id is not null as userFound
  from api_keys k
  join organizations o on o.id = :organizationId
  left join time_entries r on r.organization_id = :organizationId and r.id = :id
  left join archived_time_entries s on s.organization_id = :organizationId
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
  left join users u on ${creditedUser}
  where k.organization_id = :organizationId and k.id = :keyId and +k.hash = :keyHash`;

/** Why an entry for the service account was not inserted: one row, or none if the key is gone. */
export const explainServiceTimeEntry = statement<ExplainValues, Explanation<StoredTimeEntry>>(
  explainTimeEntry(CREDITED_USER.serviceAccount),
);

/** Why an entry for a named technician was not inserted. */
export const explainTechnicianTimeEntry = statement<
  ExplainValues & { userEmail: string },
  Explanation<StoredTimeEntry>
>(explainTimeEntry(CREDITED_USER.technician));
