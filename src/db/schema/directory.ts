import { sql } from 'drizzle-orm';
import { check, foreignKey, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { MAX_HOURLY_RATE_MINOR } from '../../domain/money.ts';
import { APPROVERS } from '../../domain/record-kinds.ts';
import { flags, identifier } from './checks.ts';

export const organizations = sqliteTable(
  'organizations',
  {
    id: text('id').primaryKey().notNull(),
    name: text('name').notNull(),
    hasPsa: integer('has_psa').notNull(),
    timeZone: text('time_zone').notNull(),
    defaultHourlyRateMinor: integer('default_hourly_rate_minor').notNull(),
    active: integer('active').notNull(),
    /** Where time is approved: 'settings' or 'psa'. */
    approvals: text('approvals', { enum: APPROVERS }).notNull().default('settings'),
  },
  () => [
    check('organizations_id', identifier('id')),
    check('organizations_flags', flags('has_psa', 'active')),
    check('organizations_rate', sql.raw(`default_hourly_rate_minor between 0 and ${MAX_HOURLY_RATE_MINOR}`)),
  ],
);

export const users = sqliteTable(
  'users',
  {
    organizationId: text('organization_id').notNull(),
    id: text('id').notNull(),
    email: text('email').notNull(),
    name: text('name').notNull(),
    isAdmin: integer('is_admin').notNull(),
    isTechnician: integer('is_technician').notNull(),
    /** The automation service account, to which time is credited if no technician is named. */
    isService: integer('is_service').notNull(),
    active: integer('active').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.id] }),
    foreignKey({ columns: [t.organizationId], foreignColumns: [organizations.id] }),
    check('users_id', identifier('id')),
    check('users_flags', flags('is_admin', 'is_technician', 'is_service', 'active')),
    check('users_email_lower_case', sql`email = lower(email) and email like '%_@_%'`),
    check('users_service_account', sql`is_service = 0 or (active = 1 and is_admin = 0 and is_technician = 0)`),
    index('users_administrators').on(t.email, t.organizationId).where(sql`is_admin = 1`),
    index('users_creditable').on(t.organizationId, t.name, t.id).where(sql`is_technician = 1 or is_service = 1`),
    uniqueIndex('users_email').on(t.organizationId, t.email),
    uniqueIndex('users_one_service_account').on(t.organizationId).where(sql`is_service = 1`),
  ],
);

export const companies = sqliteTable(
  'companies',
  {
    organizationId: text('organization_id').notNull(),
    id: text('id').notNull(),
    name: text('name').notNull(),
    active: integer('active').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.id] }),
    foreignKey({ columns: [t.organizationId], foreignColumns: [organizations.id] }),
    check('companies_id', identifier('id')),
    check('companies_flags', flags('active')),
  ],
);

export const agreements = sqliteTable(
  'agreements',
  {
    organizationId: text('organization_id').notNull(),
    id: text('id').notNull(),
    companyId: text('company_id').notNull(),
    hourlyRateMinor: integer('hourly_rate_minor').notNull(),
    active: integer('active').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.id] }),
    foreignKey({ columns: [t.organizationId, t.companyId], foreignColumns: [companies.organizationId, companies.id] }),
    check('agreements_id', identifier('id')),
    check('agreements_flags', flags('active')),
    check('agreements_rate', sql.raw(`hourly_rate_minor between 0 and ${MAX_HOURLY_RATE_MINOR}`)),
    uniqueIndex('agreements_one_active').on(t.organizationId, t.companyId).where(sql`active = 1`),
  ],
);

export const tickets = sqliteTable(
  'tickets',
  {
    organizationId: text('organization_id').notNull(),
    id: text('id').notNull(),
    companyId: text('company_id').notNull(),
    active: integer('active').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.id] }),
    foreignKey({ columns: [t.organizationId, t.companyId], foreignColumns: [companies.organizationId, companies.id] }),
    check('tickets_id', identifier('id')),
    check('tickets_flags', flags('active')),
  ],
);

/**
 * When each organization's directory was last changed, so that an older signed message does not undo a newer change. A
 * trigger refuses to turn it back. Kept after an erasure: it has nothing of the organization but its id.
 */
export const directoryClock = sqliteTable(
  'directory_clock',
  {
    organizationId: text('organization_id').primaryKey().notNull(),
    /** The time of the latest message or change, UTC milliseconds of a whole second. */
    at: integer('at').notNull(),
    /** JSON array: the ids of the messages of that time, in order; empty for a change without one. */
    messages: text('messages').notNull(),
  },
  () => [check('directory_clock_messages', sql`json_array_length(messages) > 0`)],
);

/** Identifies this database: one row, created with it. Cursors of other databases are not valid. */
export const databaseEpoch = sqliteTable(
  'database_epoch',
  {
    id: integer('id').primaryKey().notNull(),
    epoch: text('epoch').notNull(),
  },
  () => [check('database_epoch_single', sql`id = 1`)],
);

/**
 * The organizations that were erased, without any of their data; kept permanently. The triggers allow deletes of an
 * organization's audit rows only while its row here is `open`, and refuse new ones then. It stays open from the first
 * transaction of an erasure to the last.
 */
export const erasures = sqliteTable(
  'erasures',
  {
    organizationId: text('organization_id').notNull(),
    requestId: text('request_id').notNull(),
    erasedAt: integer('erased_at').notNull(),
    erasedBy: text('erased_by').notNull(),
    /** How many audit rows there were: the last `seq`. */
    lastSeq: integer('last_seq').notNull(),
    open: integer('open').notNull(),
    /** When and by whom the organization was created again. Until then, its directory is refused. */
    recreatedAt: integer('recreated_at'),
    recreatedBy: text('recreated_by'),
  },
  (t) => [primaryKey({ columns: [t.organizationId, t.requestId] }), check('erasures_flags', flags('open'))],
);
