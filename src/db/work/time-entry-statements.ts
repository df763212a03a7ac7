import type { StoredRecords } from '../../domain/stored-json.ts';
import { columns, type Fields, statement } from '../statement.ts';
import {
  type ExplainValues,
  type Explanation,
  explained,
  INSERTED_FROM,
  type Inserted,
  type InsertValues,
  insertedIf,
  type RecordTable,
  type StoredRecord,
} from './record-table.ts';

type TimeEntryFields = Omit<StoredRecords['time_entry'], 'id' | 'ticketId' | 'createdAt' | 'description'>;

export type StoredTimeEntry = StoredRecord & TimeEntryFields;

const OWN_FIELDS: Fields<TimeEntryFields> = {
  userId: 'user_id',
  minutes: 'minutes',
  billable: 'billable',
  workDate: 'work_date',
  hourlyRateMinor: 'hourly_rate_minor',
  agreementSource: 'agreement_source',
  status: 'status',
};

export const TIME_ENTRIES: RecordTable<StoredRecords['time_entry']> = {
  table: 'time_entries',
  fields: {
    id: 'id',
    ticketId: 'ticket_id',
    createdAt: 'created_at',
    description: 'description',
    ...OWN_FIELDS,
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
  ${INSERTED_FROM}
  join users u on ${creditedUser}
  left join agreements g on g.organization_id = :organizationId and g.company_id = t.company_id and g.active = 1
  ${insertedIf('time_entry', `\n    ${columns(OWN_FIELDS)},`)}`;

/** Inserts the entry, credited to the service account, if everything allows it and the id is new. */
export const insertServiceTimeEntry = statement<TimeEntryValues, StoredTimeEntry & Inserted>(
  insertTimeEntry(CREDITED_USER.serviceAccount),
);

/** The same, credited to the technician with this email address. */
export const insertTechnicianTimeEntry = statement<TimeEntryValues & { userEmail: string }, StoredTimeEntry & Inserted>(
  insertTimeEntry(CREDITED_USER.technician),
);

const EXPLAINED_FIELDS = `\n    ${columns(OWN_FIELDS, 'r')},`;

/** Why an entry for the service account was not inserted: one row, or none if the key is gone. */
export const explainServiceTimeEntry = statement<ExplainValues, Explanation<StoredTimeEntry>>(
  explained(TIME_ENTRIES.table, EXPLAINED_FIELDS, CREDITED_USER.serviceAccount),
);

/** Why an entry for a named technician was not inserted. */
export const explainTechnicianTimeEntry = statement<
  ExplainValues & { userEmail: string },
  Explanation<StoredTimeEntry>
>(explained(TIME_ENTRIES.table, EXPLAINED_FIELDS, CREDITED_USER.technician));
