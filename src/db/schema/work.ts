import { sql } from 'drizzle-orm';
import { check, foreignKey, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { MAX_HOURLY_RATE_MINOR } from '../../domain/money.ts';
import { AGREEMENT_SOURCES, APPROVERS, MAX_MINUTES, TIME_ENTRY_STATUSES } from '../../domain/record-kinds.ts';
import { flags, freeText, oneOf, words } from './checks.ts';
import { organizations, tickets, users } from './directory.ts';
import { apiKeys } from './keys.ts';

/** The columns of every kind of record. */
const recordColumns = {
  organizationId: text('organization_id').notNull(),
  id: text('id').notNull(),
  ticketId: text('ticket_id').notNull(),
  createdAt: integer('created_at').notNull(),
  keyId: text('key_id').notNull(),
  /** The request that created the record: identifies the row of a retried batch. */
  requestId: text('request_id').notNull(),
  /** SHA-256 of ticket and validated body, in hex: detects a replay of a different request. */
  requestDigest: text('request_digest').notNull(),
  /** The audit row of the write. No foreign key: SQLite would scan all records per audit row. */
  auditSeq: integer('audit_seq').notNull(),
};

export const notes = sqliteTable(
  'notes',
  {
    ...recordColumns,
    message: text('message').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.id] }),
    foreignKey({ columns: [t.organizationId, t.ticketId], foreignColumns: [tickets.organizationId, tickets.id] }),
    foreignKey({ columns: [t.organizationId, t.keyId], foreignColumns: [apiKeys.organizationId, apiKeys.id] }),
    check('notes_message', freeText('message')),
  ],
);

export const timeEntries = sqliteTable(
  'time_entries',
  {
    ...recordColumns,
    userId: text('user_id').notNull(),
    minutes: integer('minutes').notNull(),
    description: text('description').notNull(),
    billable: integer('billable').$type<0 | 1>().notNull(),
    /** Calendar date in the organization's time zone, YYYY-MM-DD. */
    workDate: text('work_date').notNull(),
    hourlyRateMinor: integer('hourly_rate_minor').notNull(),
    agreementSource: text('agreement_source', { enum: AGREEMENT_SOURCES }).notNull(),
    /** Who decides about it: as the directory had it when it was written, or `settings` after a PSA has left. */
    approvals: text('approvals', { enum: APPROVERS }).notNull(),
    status: text('status', { enum: TIME_ENTRY_STATUSES }).notNull(),
    /** The audit row of the approval or rejection, null while SUBMITTED: identifies that of a retried batch. */
    approvalSeq: integer('approval_seq'),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.id] }),
    foreignKey({ columns: [t.organizationId, t.ticketId], foreignColumns: [tickets.organizationId, tickets.id] }),
    foreignKey({ columns: [t.organizationId, t.userId], foreignColumns: [users.organizationId, users.id] }),
    foreignKey({ columns: [t.organizationId, t.keyId], foreignColumns: [apiKeys.organizationId, apiKeys.id] }),
    index('time_entries_status').on(t.organizationId, t.approvals, t.status, t.auditSeq),
    check('time_entries_minutes', sql.raw(`minutes between 1 and ${MAX_MINUTES}`)),
    check('time_entries_description', freeText('description')),
    check('time_entries_flags', flags('billable')),
    check('time_entries_work_date', sql`work_date is date(work_date)`),
    check('time_entries_rate', sql.raw(`hourly_rate_minor between 0 and ${MAX_HOURLY_RATE_MINOR}`)),
    check('time_entries_source', oneOf('agreement_source', AGREEMENT_SOURCES)),
    check('time_entries_approvals', oneOf('approvals', APPROVERS)),
    check('time_entries_status', oneOf('status', TIME_ENTRY_STATUSES)),
  ],
);

/**
 * The daily ledger: what a key wrote on one day, the calendar date in the organization's time zone. Written with each
 * record, in its transaction; kept for 400 days, and as long as an audit row of the day is in the database.
 */
export const keyDays = sqliteTable(
  'key_days',
  {
    organizationId: text('organization_id').notNull(),
    chainId: text('chain_id').notNull(),
    day: text('day').notNull(),
    keyId: text('key_id').notNull(),
    notes: integer('notes').notNull(),
    timeEntries: integer('time_entries').notNull(),
    minutes: integer('minutes').notNull(),
    /** Bytes of text in UTF-8, as they were written: a redaction changes nothing here. */
    bytes: integer('bytes').notNull(),
    lastAt: integer('last_at').notNull(),
    lastAddress: text('last_address'),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.chainId, t.day, t.keyId] }),
    foreignKey({ columns: [t.organizationId, t.keyId], foreignColumns: [apiKeys.organizationId, apiKeys.id] }),
    check('key_days_day', sql`day is date(day)`),
    check(
      'key_days_counts',
      sql`notes >= 0 and time_entries >= 0 and notes + time_entries > 0 and minutes >= 0 and bytes > 0`,
    ),
  ],
);

/** The records that the PSA could not take. A row is deleted when the PSA has taken the record. */
export const psaRefusals = sqliteTable(
  'psa_refusals',
  {
    organizationId: text('organization_id').notNull(),
    /** The id of a note or time entry: there is no foreign key, because these are in two tables. */
    recordId: text('record_id').notNull(),
    kind: text('kind').notNull(),
    reason: text('reason').notNull(),
    refusedAt: integer('refused_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.recordId] }),
    foreignKey({ columns: [t.organizationId], foreignColumns: [organizations.id] }),
    check('psa_refusals_kind', words('kind')),
    check('psa_refusals_reason', freeText('reason')),
  ],
);

/** Up to which audit row an organization's old records are deleted. It only advances, as far as its triggers admit. */
export const deletions = sqliteTable(
  'deletions',
  {
    organizationId: text('organization_id').primaryKey().notNull(),
    toSeq: integer('to_seq').notNull(),
  },
  (t) => [
    foreignKey({ columns: [t.organizationId], foreignColumns: [organizations.id] }),
    check('deletions_seq', sql`to_seq > 0`),
  ],
);
