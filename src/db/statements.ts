import { and, eq, type GetColumnData, isNull, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';
import type { Scope } from '../domain/api-key.ts';
import { nextSeq } from './audit/audit-row.ts';
import { builder, statement, value } from './client.ts';
import { agreements, apiKeys, companies, notes, organizations, tickets, timeEntries, users } from './schema.ts';

// The statements of the request path. All of them find single rows by unique keys that begin with the organization: what they read
// does not grow with the data. Conditions on flags are written as literals (`is_service = 1`): SQLite uses a partial index only where
// it can see the index's own condition, not behind a bound parameter.

const isTrue = (column: SQLiteColumn) => sql`${column} = 1`;
const sameOrganization = (column: SQLiteColumn) => eq(column, sql.placeholder('organizationId'));

/** Selects columns under the names of the fields, as the raw values that SQLite holds. */
export function named<Columns extends Record<string, SQLiteColumn>>(columns: Columns) {
  const entries = Object.entries(columns).map(([name, column]) => [name, sql`${column}`.as(name)] as const);
  return Object.fromEntries(entries);
}

/** A row of these columns as D1 returns it: flags are 0 or 1. */
export type RowOf<Columns extends Record<string, SQLiteColumn>> = {
  [Field in keyof Columns]: GetColumnData<Columns[Field]> extends boolean ? number : GetColumnData<Columns[Field]>;
};

// --- authentication --------------------------------------------------------------------------------------------------------------

const keyColumns = {
  organizationId: apiKeys.organizationId,
  keyId: apiKeys.id,
  keyName: apiKeys.name,
  scopes: apiKeys.scopes,
  limitQuota: apiKeys.limitQuota,
  limitWindowMs: apiKeys.limitWindowMs,
  expiresAt: apiKeys.expiresAt,
  revokedAt: apiKeys.revokedAt,
  organizationActive: organizations.active,
  hasPsa: organizations.hasPsa,
  timeZone: organizations.timeZone,
};

export type KeyRow = RowOf<typeof keyColumns>;

/** What is sent of a key that is not there, in the place and about the length of one that is: or the time of the answer would tell the two apart. */
const nobody: Record<string, SQL> = {
  organizationId: sql`'nobody-here'`,
  keyId: sql`'00000000-0000-7000-8000-000000000000'`,
  keyName: sql`'There is no such key'`,
  scopes: sql`'tickets:note:write tickets:time:write'`,
  limitQuota: sql`null`,
  limitWindowMs: sql`null`,
  expiresAt: sql`null`,
  revokedAt: sql`0`,
  organizationActive: sql`1`,
  hasPsa: sql`1`,
  timeZone: sql`'Etc/UTC'`,
} satisfies Record<keyof KeyRow, SQL>;

/** The key with this hash and its organization, one row of `KeyRow & { found: 1 }`; if there is none, a row with `found` 0. */
export const findKeyByHash = statement<{ hash: string }>(
  builder
    .select({ ...named(keyColumns), found: sql<number>`1`.as('found') })
    .from(apiKeys)
    .innerJoin(organizations, eq(organizations.id, apiKeys.organizationId))
    .where(eq(apiKeys.hash, sql.placeholder('hash')))
    .unionAll(builder.select({ ...nobody, found: sql<number>`0` }).from(sql`(select 1)`))
    .limit(1),
);

// --- the write -------------------------------------------------------------------------------------------------------------------

/** What every insert binds, besides the fields of its own record. */
export interface InsertValues {
  organizationId: string;
  keyId: string;
  /** UTC milliseconds, read just before the batch is sent. */
  now: number;
  id: string;
  ticketId: string;
  requestId: string;
  requestDigest: string;
}

export interface NoteValues extends InsertValues {
  message: string;
}

export interface TimeEntryValues extends InsertValues {
  minutes: number;
  description: string;
  billable: number;
  workDate: string;
  /** The zone that the work date was reckoned in; nothing is inserted if the organization has another one by now. */
  timeZone: string;
}

/** A key that may do this, at this very moment. */
const liveKey = (scope: Scope) =>
  and(
    sameOrganization(apiKeys.organizationId),
    eq(apiKeys.id, sql.placeholder('keyId')),
    isNull(apiKeys.revokedAt),
    sql`(${apiKeys.expiresAt} is null or ${apiKeys.expiresAt} > ${sql.placeholder('now')})`,
    sql`instr(' ' || ${apiKeys.scopes} || ' ', ${sql.raw(`' ${scope} '`)}) > 0`,
  );
const organizationWithPsa = (...more: SQL[]) =>
  and(sameOrganization(organizations.id), isTrue(organizations.active), isTrue(organizations.hasPsa), ...more);
const openTicket = and(sameOrganization(tickets.organizationId), eq(tickets.id, sql.placeholder('ticketId')), isTrue(tickets.active));
const ticketsCompany = and(sameOrganization(companies.organizationId), eq(companies.id, tickets.companyId), isTrue(companies.active));
const companysAgreement = and(
  sameOrganization(agreements.organizationId),
  eq(agreements.companyId, tickets.companyId),
  isTrue(agreements.active),
);

/** Two shapes, for a condition that said "service account or this e-mail" would read every user of the organization. */
const creditedUser = {
  service: and(sameOrganization(users.organizationId), isTrue(users.isService)),
  technician: and(
    sameOrganization(users.organizationId),
    eq(users.email, sql.placeholder('userEmail')),
    isTrue(users.active),
    isTrue(users.isTechnician),
    sql`${users.isService} = 0`,
  ),
};

const writtenFields = {
  organizationId: sql<string>`${apiKeys.organizationId}`.as('organization_id'),
  id: value<string>('id').as('id'),
  ticketId: sql<string>`${tickets.id}`.as('ticket_id'),
  createdAt: value<number>('now').as('created_at'),
  keyId: sql<string>`${apiKeys.id}`.as('key_id'),
  requestId: value<string>('requestId').as('request_id'),
  requestDigest: value<string>('requestDigest').as('request_digest'),
  auditSeq: nextSeq.as('audit_seq'),
};

const noteColumns = {
  id: notes.id,
  ticketId: notes.ticketId,
  createdAt: notes.createdAt,
  requestId: notes.requestId,
  requestDigest: notes.requestDigest,
};

export type NoteRow = RowOf<typeof noteColumns>;

/** Inserts the note if the key, plan and ticket allow it and the id is new: returns the `NoteRow`, or nothing. */
export const insertNote = statement<NoteValues>(
  builder
    .insert(notes)
    .select(
      builder
        .select({ ...writtenFields, message: value<string>('message').as('message') })
        .from(apiKeys)
        .innerJoin(organizations, organizationWithPsa())
        .innerJoin(tickets, openTicket)
        .innerJoin(companies, ticketsCompany)
        .where(liveKey('tickets:note:write')),
    )
    .onConflictDoNothing({ target: [notes.organizationId, notes.id] })
    .returning(named(noteColumns)),
);

const timeEntryColumns = {
  id: timeEntries.id,
  ticketId: timeEntries.ticketId,
  createdAt: timeEntries.createdAt,
  requestId: timeEntries.requestId,
  requestDigest: timeEntries.requestDigest,
  userId: timeEntries.userId,
  minutes: timeEntries.minutes,
  billable: timeEntries.billable,
  workDate: timeEntries.workDate,
  hourlyRateMinor: timeEntries.hourlyRateMinor,
  agreementSource: timeEntries.agreementSource,
  status: timeEntries.status,
};

export type TimeEntryRow = RowOf<typeof timeEntryColumns>;

function insertTimeEntry(user: SQL | undefined) {
  return builder
    .insert(timeEntries)
    .select(
      builder
        .select({
          ...writtenFields,
          userId: sql<string>`${users.id}`.as('user_id'),
          minutes: value<number>('minutes').as('minutes'),
          description: value<string>('description').as('description'),
          billable: value<boolean>('billable').as('billable'),
          workDate: value<string>('workDate').as('work_date'),
          hourlyRateMinor: sql<number>`coalesce(${agreements.hourlyRateMinor}, ${organizations.defaultHourlyRateMinor})`.as(
            'hourly_rate_minor',
          ),
          agreementSource: sql<
            'company_default' | 'organization_default'
          >`iif(${agreements.id} is null, 'organization_default', 'company_default')`.as('agreement_source'),
          status: sql<'SUBMITTED'>`'SUBMITTED'`.as('status'),
          reviewSeq: sql<null>`null`.as('review_seq'),
        })
        .from(apiKeys)
        .innerJoin(organizations, organizationWithPsa(eq(organizations.timeZone, sql.placeholder('timeZone'))))
        .innerJoin(tickets, openTicket)
        .innerJoin(companies, ticketsCompany)
        .innerJoin(users, user)
        .leftJoin(agreements, companysAgreement)
        .where(liveKey('tickets:time:write')),
    )
    .onConflictDoNothing({ target: [timeEntries.organizationId, timeEntries.id] })
    .returning(named(timeEntryColumns));
}

/** Inserts the entry, credited to the service account, if everything allows it and the id is new: returns the `TimeEntryRow`, or nothing. */
export const insertServiceTimeEntry = statement<TimeEntryValues>(insertTimeEntry(creditedUser.service));

/** The same, credited to the technician with this e-mail address. */
export const insertTechnicianTimeEntry = statement<TimeEntryValues & { userEmail: string }>(insertTimeEntry(creditedUser.technician));

// --- why nothing was inserted ----------------------------------------------------------------------------------------------------

export interface ExplainValues {
  organizationId: string;
  keyId: string;
  id: string;
  ticketId: string;
}

/** The key's standing, what was found of ticket and user (ids or null), and the record that has the id already, if there is one. */
export type Explanation<Row> = KeyRow & { foundTicket: string | null; foundUser: string | null } & (Row | { id: null });

const found = (column: SQLiteColumn, name: string) => sql<string | null>`${column}`.as(name);

/** The explanation of a note that was not inserted: one row, or none when the key is gone. */
export const explainNote = statement<ExplainValues>(
  builder
    .select({
      ...named(keyColumns),
      ...named(noteColumns),
      foundTicket: found(companies.id, 'foundTicket'),
      foundUser: sql`null`.as('foundUser'),
    })
    .from(apiKeys)
    .innerJoin(organizations, sameOrganization(organizations.id))
    .leftJoin(notes, and(sameOrganization(notes.organizationId), eq(notes.id, sql.placeholder('id'))))
    .leftJoin(tickets, openTicket)
    .leftJoin(companies, ticketsCompany)
    .where(and(sameOrganization(apiKeys.organizationId), eq(apiKeys.id, sql.placeholder('keyId')))),
);

function explainTimeEntry(user: SQL | undefined) {
  return builder
    .select({
      ...named(keyColumns),
      ...named(timeEntryColumns),
      foundTicket: found(companies.id, 'foundTicket'),
      foundUser: found(users.id, 'foundUser'),
    })
    .from(apiKeys)
    .innerJoin(organizations, sameOrganization(organizations.id))
    .leftJoin(timeEntries, and(sameOrganization(timeEntries.organizationId), eq(timeEntries.id, sql.placeholder('id'))))
    .leftJoin(tickets, openTicket)
    .leftJoin(companies, ticketsCompany)
    .leftJoin(users, user)
    .where(and(sameOrganization(apiKeys.organizationId), eq(apiKeys.id, sql.placeholder('keyId'))));
}

/** The explanation of an entry for the service account that was not inserted. */
export const explainServiceTimeEntry = statement<ExplainValues>(explainTimeEntry(creditedUser.service));

/** The explanation of an entry for a named technician that was not inserted. */
export const explainTechnicianTimeEntry = statement<ExplainValues & { userEmail: string }>(explainTimeEntry(creditedUser.technician));
