import { RECORD_KINDS } from '../../domain/record-kinds.ts';
import type { AgreementSource, TimeEntryStatus } from '../../domain/time-entry.ts';
import { KEY_COLUMNS } from '../keys/find-key.ts';
import { columns, type Fields, insertInto, statement } from '../statement.ts';
import {
  ARCHIVED_FIELDS,
  EXPLAINED_DAY,
  EXPLAINED_KEY,
  type ExplainValues,
  type Explanation,
  explainedRecord,
  FROM_WRITABLE_TICKET,
  fromExplained,
  type Inserted,
  type InsertValues,
  keyMay,
  RETURNED,
  type RecordTable,
  STORED_FIELDS,
  STORED_VALUES,
  type StoredRecord,
} from './record-table.ts';

interface TimeEntryFields {
  userId: string;
  minutes: number;
  billable: number;
  workDate: string;
  hourlyRateMinor: number;
  agreementSource: AgreementSource;
  status: TimeEntryStatus;
}

const TIME_ENTRY_FIELDS: Fields<TimeEntryFields> = {
  userId: 'user_id',
  minutes: 'minutes',
  billable: 'billable',
  workDate: 'work_date',
  hourlyRateMinor: 'hourly_rate_minor',
  agreementSource: 'agreement_source',
  status: 'status',
};

/** The same of an archived time entry `s`. */
const ARCHIVED_TIME_ENTRY_FIELDS: Fields<TimeEntryFields> = {
  userId: 's.user_id',
  minutes: 's.minutes',
  billable: 's.billable',
  workDate: "date(s.work_day * 86400, 'unixepoch')",
  hourlyRateMinor: 's.hourly_rate_minor',
  agreementSource: "iif(s.by_agreement = 1, 'company_default', 'organization_default')",
  status: "iif(s.approved = 1, 'APPROVED', 'REJECTED')",
};

/** A time entry as a write returns it. */
export interface StoredTimeEntry extends StoredRecord, TimeEntryFields {}

const STORED_TIME_ENTRY_FIELDS: Fields<StoredTimeEntry> = { ...STORED_FIELDS, ...TIME_ENTRY_FIELDS };

/** A time entry as the PSA reads it. */
export interface TimeEntryRow extends TimeEntryFields {
  id: string;
  ticketId: string;
  createdAt: number;
  description: string;
}

export const TIME_ENTRIES: RecordTable<TimeEntryRow> = {
  table: 'time_entries',
  textColumn: 'description',
  fields: {
    id: 'id',
    ticketId: 'ticket_id',
    createdAt: 'created_at',
    description: 'description',
    ...TIME_ENTRY_FIELDS,
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
    },
    fields: ARCHIVED_TIME_ENTRY_FIELDS,
    // One that is SUBMITTED stays until it is reviewed.
    actions: ['time_entry.approved', 'time_entry.rejected'],
  },
};

export interface TimeEntryValues extends InsertValues {
  description: string;
  billable: number;
}

/** Two conditions: one with `or` would read every user of the organization. */
const CREDITED_USER = {
  serviceAccount: 'u.organization_id = :organizationId and u.is_service = 1',
  technician: `u.organization_id = :organizationId and u.email = :userEmail
    and u.active = 1 and u.is_technician = 1 and u.is_service = 0`,
};

const insertTimeEntry = (creditedUser: string) => `
  ${insertInto(TIME_ENTRIES.table, {
    ...STORED_VALUES,
    user_id: 'u.id',
    minutes: ':minutes',
    description: ':description',
    billable: ':billable',
    work_date: ':day',
    hourly_rate_minor: 'coalesce(g.hourly_rate_minor, o.default_hourly_rate_minor)',
    agreement_source: "iif(g.id is null, 'organization_default', 'company_default')",
    status: "'SUBMITTED'",
    review_seq: 'null',
  })}
  ${FROM_WRITABLE_TICKET}
  join users u on ${creditedUser}
  left join agreements g on g.organization_id = :organizationId and g.company_id = t.company_id and g.active = 1
  where ${keyMay(RECORD_KINDS.time_entry.scope)}
  on conflict (organization_id, id) do nothing
  returning ${columns(STORED_TIME_ENTRY_FIELDS)}, ${RETURNED}`;

/**
 * Inserts the entry, credited to the service account, if everything allows it and the id is new.
 * Returns the entry or nothing.
 */
export const insertServiceTimeEntry = statement<TimeEntryValues, StoredTimeEntry & Inserted>(
  insertTimeEntry(CREDITED_USER.serviceAccount),
);

/** The same, credited to the technician with this email address. */
export const insertTechnicianTimeEntry = statement<TimeEntryValues & { userEmail: string }, StoredTimeEntry & Inserted>(
  insertTimeEntry(CREDITED_USER.technician),
);

const explainTimeEntry = (creditedUser: string) => `
  select ${KEY_COLUMNS}, ${EXPLAINED_DAY}, ${explainedRecord(STORED_TIME_ENTRY_FIELDS, { ...ARCHIVED_FIELDS, ...ARCHIVED_TIME_ENTRY_FIELDS })}, c.id is not null as ticketFound, u.id is not null as userFound
  ${fromExplained(TIME_ENTRIES)}
  left join users u on ${creditedUser}
  where ${EXPLAINED_KEY}`;

/** Why an entry for the service account was not inserted: one row, or none if the key is gone. */
export const explainServiceTimeEntry = statement<ExplainValues, Explanation<StoredTimeEntry>>(
  explainTimeEntry(CREDITED_USER.serviceAccount),
);

/** Why an entry for a named technician was not inserted. */
export const explainTechnicianTimeEntry = statement<
  ExplainValues & { userEmail: string },
  Explanation<StoredTimeEntry>
>(explainTimeEntry(CREDITED_USER.technician));
