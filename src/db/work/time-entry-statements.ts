import { type SQL, sql } from 'drizzle-orm';
import { type Database, type Fields, type Input, named, once, type RowOf, valuesFor } from '../query.ts';
import { agreements, organizations, tickets, users } from '../schema/directory.ts';
import { timeEntries } from '../schema/work.ts';
import {
  admitted,
  type ExplainValues,
  explain,
  type InsertValues,
  recordValues,
  returned,
  type StoredRecord,
} from './write.ts';

/** The fields of a time entry in addition to those of every kind. */
const OWN_FIELDS = {
  userId: timeEntries.userId,
  minutes: timeEntries.minutes,
  billable: timeEntries.billable,
  workDate: timeEntries.workDate,
  hourlyRateMinor: timeEntries.hourlyRateMinor,
  agreementSource: timeEntries.agreementSource,
  status: timeEntries.status,
} satisfies Fields;

export type StoredTimeEntry = StoredRecord & RowOf<typeof OWN_FIELDS>;

type TimeEntryValues = InsertValues & Pick<typeof timeEntries.$inferSelect, 'description' | 'billable'>;

type ByEmail = { userEmail: string };

// Conditions that find the credited user. Two of them: one with `or` would read every user of the organization.

const isServiceAccount = ({ organizationId }: Input<ExplainValues>) =>
  sql`${users.organizationId} = ${organizationId} and ${users.isService} = 1`;

const isTechnician = ({ organizationId, userEmail }: Input<ExplainValues & ByEmail>) =>
  sql`${users.organizationId} = ${organizationId} and ${users.email} = ${userEmail}
    and ${users.active} = 1 and ${users.isTechnician} = 1 and ${users.isService} = 0`;

const insertTimeEntry = (db: Database, values: Input<TimeEntryValues>, isCredited: SQL) =>
  db
    .insert(timeEntries)
    .select(
      sql`select ${valuesFor(timeEntries, {
        ...recordValues(values),
        userId: users.id,
        minutes: values.minutes,
        description: values.description,
        billable: values.billable,
        workDate: values.day,
        hourlyRateMinor: sql`coalesce(${agreements.hourlyRateMinor}, ${organizations.defaultHourlyRateMinor})`,
        agreementSource: sql`iif(${agreements.id} is null, 'organization_default', 'company_default')`,
        approvals: organizations.approvals,
        status: sql`'SUBMITTED'`,
        approvalSeq: sql`null`,
      })}
      ${admitted(
        'time_entry',
        values,
        sql`join ${users} on ${isCredited}
          left join ${agreements} on ${agreements.organizationId} = ${values.organizationId}
            and ${agreements.companyId} = ${tickets.companyId} and ${agreements.active} = 1`,
      )}`,
    )
    .onConflictDoNothing({ target: [timeEntries.organizationId, timeEntries.id] })
    .returning(named({ ...returned('time_entry', values), ...OWN_FIELDS }));

/** Inserts the entry, credited to the service account, if everything allows it and the id is new. */
export const insertServiceTimeEntry = once((db, values: Input<TimeEntryValues>) =>
  insertTimeEntry(db, values, isServiceAccount(values)),
);

/** The same, credited to the technician with this email address. */
export const insertTechnicianTimeEntry = once((db, values: Input<TimeEntryValues & ByEmail>) =>
  insertTimeEntry(db, values, isTechnician(values)),
);

const explainTimeEntry = (db: Database, values: Input<ExplainValues>, isCredited: SQL) =>
  explain(db, 'time_entry', values, OWN_FIELDS, {
    joins: sql`left join ${users} on ${isCredited}`,
    isFound: sql<number>`${users.id} is not null`,
  });

/** Why an entry for the service account was not inserted: one row, or none if the key is gone. */
export const explainServiceTimeEntry = once((db, values: Input<ExplainValues>) =>
  explainTimeEntry(db, values, isServiceAccount(values)),
);

/** Why an entry for a named technician was not inserted. */
export const explainTechnicianTimeEntry = once((db, values: Input<ExplainValues & ByEmail>) =>
  explainTimeEntry(db, values, isTechnician(values)),
);
