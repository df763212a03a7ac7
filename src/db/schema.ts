import { type BuildColumns, type Column, sql } from 'drizzle-orm';
import {
  blob,
  check,
  foreignKey,
  index,
  integer,
  primaryKey,
  type SQLiteColumnBuilderBase,
  type SQLiteTableExtraConfigValue,
  sqliteTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';
import { REVIEW_DECISIONS } from '../domain/access-review.ts';
import { ACTOR_TYPES } from '../domain/audit-actions.ts';
import { MAX_REASON_LENGTH } from '../domain/decision-reason.ts';
import { MAX_TEXT_LENGTH } from '../domain/fields.ts';
import { MAX_HOURLY_RATE_MINOR } from '../domain/money.ts';
import type { RefusedUseReason } from '../domain/refused-use.ts';
import { AGREEMENT_SOURCES, APPROVERS, MAX_MINUTES, TIME_ENTRY_STATUSES } from '../domain/time-entry.ts';

// The schema. It is never loaded at run time: drizzle is used only to generate migrations from this file. Queries are SQL
// text (statement.ts), because a write is one statement whose conditions, plan and rows are reviewed one by one: `indexed
// by`, `changes() = 1`, recursive queries and `+k.hash` would be raw text in a query builder too.
// WITHOUT ROWID, STRICT and triggers are added to a migration by hand, because drizzle-kit does not support them.
// test/repository/schema.test.ts compares this file with the migrations.
//
// Every table is clustered (WITHOUT ROWID) on a primary key that begins with the organization: an insert writes one row,
// and each query stays within one tenant. Only `notes` keeps its rowid: a WITHOUT ROWID row above about 1,000 bytes takes
// a 4 KB overflow page, so a note of 800 characters would take almost four times the space, which is worth a second row
// written. Times are UTC milliseconds, money is minor units, email addresses are lower case.

/** A table, whose constraints follow in a second call, because they use its columns. Its flags are 0 or 1. */
function table<Columns extends Record<string, SQLiteColumnBuilderBase>>(name: string, columns: Columns) {
  type Built = BuildColumns<string, Columns, 'sqlite'>;
  return (constraints: (t: Built) => SQLiteTableExtraConfigValue[]) =>
    sqliteTable(name, columns, (t) => [...flagChecks(name, t), ...constraints(t)]);
}

/** Flags with a default have no CHECK, and SQLite cannot add one to an existing table. */
function flagChecks(table: string, columns: Readonly<Record<string, Column>>) {
  const flags = Object.values(columns).filter(({ dataType, hasDefault }) => dataType === 'boolean' && !hasDefault);
  const rule = flags.map(({ name }) => `"${name}" in (0, 1)`).join(' and ');
  return flags.length === 0 ? [] : [check(`${table}_flags`, sql.raw(rule))];
}

const organizationId = () => text('organization_id').notNull();
const ofOrganization = () => organizationId().references(() => organizations.id);
/** The key of a table with at most one row for each organization. */
const onceForOrganization = () => ofOrganization().primaryKey();
const id = () => text('id').notNull();
const flag = (name: string) => integer(name, { mode: 'boolean' }).notNull();
// Not `in (…)`: for three or more values SQLite builds a temporary index, which costs one row read per write.
const oneOf = (column: string, values: readonly string[]) =>
  sql.raw(values.map((value) => `"${column}" = '${value}'`).join(' or '));
const between = (column: string, low: number, high: number) => sql.raw(`"${column}" between ${low} and ${high}`);
/** Lower-case words separated by single spaces. No list of values: SQLite cannot change a CHECK. */
const words = (column: string) =>
  sql.raw(
    `length("${column}") > 0 and "${column}" not glob '*[^a-z0-9:_ -]*' and "${column}" = trim("${column}") and instr("${column}", '  ') = 0`,
  );
const identifier = (column: string) =>
  sql.raw(
    `length("${column}") between 1 and 64 and "${column}" not glob '*[^A-Za-z0-9._~-]*' and "${column}" not in ('.', '..')`,
  );

/** What `String.prototype.trim` removes (ECMA-262 WhiteSpace and LineTerminator), for SQLite's trim(). */
const WHITE_SPACE = [
  9, 10, 11, 12, 13, 32, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009,
  0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff,
];
const freeText = (column: string) =>
  sql.raw(`length(trim("${column}", char(${WHITE_SPACE.join(',')}))) between 1 and ${MAX_TEXT_LENGTH}`);

export const organizations = table('organizations', {
  id: id().primaryKey(),
  name: text('name').notNull(),
  hasPsa: flag('has_psa'),
  timeZone: text('time_zone').notNull(),
  defaultHourlyRateMinor: integer('default_hourly_rate_minor').notNull(),
  active: flag('active'),
  /** Where time is approved. No CHECK: SQLite cannot add one to a table. */
  approvals: text('approvals', { enum: APPROVERS }).notNull().default('settings'),
})(() => [
  check('organizations_id', identifier('id')),
  check('organizations_rate', between('default_hourly_rate_minor', 0, MAX_HOURLY_RATE_MINOR)),
]);

export const users = table('users', {
  organizationId: ofOrganization(),
  id: id(),
  email: text('email').notNull(),
  name: text('name').notNull(),
  isAdmin: flag('is_admin'),
  isTechnician: flag('is_technician'),
  /** The automation service account, to which time is credited if no technician is named. */
  isService: flag('is_service'),
  active: flag('active'),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.id] }),
  uniqueIndex('users_email').on(t.organizationId, t.email),
  uniqueIndex('users_one_service_account').on(t.organizationId).where(sql`is_service = 1`),
  index('users_administrators').on(t.email, t.organizationId).where(sql`is_admin = 1`),
  check('users_id', identifier('id')),
  check('users_email_lower_case', sql`"email" = lower("email") and "email" like '%_@_%'`),
  check('users_service_account', sql`"is_service" = 0 or ("active" = 1 and "is_admin" = 0 and "is_technician" = 0)`),
]);

export const companies = table('companies', {
  organizationId: ofOrganization(),
  id: id(),
  name: text('name').notNull(),
  active: flag('active'),
})((t) => [primaryKey({ columns: [t.organizationId, t.id] }), check('companies_id', identifier('id'))]);

export const agreements = table('agreements', {
  organizationId: organizationId(),
  id: id(),
  companyId: text('company_id').notNull(),
  hourlyRateMinor: integer('hourly_rate_minor').notNull(),
  active: flag('active'),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.id] }),
  foreignKey({ columns: [t.organizationId, t.companyId], foreignColumns: [companies.organizationId, companies.id] }),
  uniqueIndex('agreements_one_active').on(t.organizationId, t.companyId).where(sql`active = 1`),
  check('agreements_id', identifier('id')),
  check('agreements_rate', between('hourly_rate_minor', 0, MAX_HOURLY_RATE_MINOR)),
]);

export const tickets = table('tickets', {
  organizationId: organizationId(),
  id: id(),
  companyId: text('company_id').notNull(),
  active: flag('active'),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.id] }),
  foreignKey({ columns: [t.organizationId, t.companyId], foreignColumns: [companies.organizationId, companies.id] }),
  check('tickets_id', identifier('id')),
]);

export const apiKeys = table('api_keys', {
  organizationId: ofOrganization(),
  id: id(),
  /** The id of the first key of the rotation chain; its own id if it replaced no key. */
  chainId: text('chain_id').notNull(),
  name: text('name').notNull(),
  /** SHA-256 of the key value in hex; the value itself is not stored. */
  hash: text('hash').notNull(),
  hint: text('hint').notNull(),
  scopes: text('scopes').notNull(),
  /** The key's own daily limits; null where it has none. */
  dayLimitRecords: integer('day_limit_records'),
  dayLimitMinutes: integer('day_limit_minutes'),
  /** As domain/networks.ts stores them; empty for everywhere. */
  allowedNetworks: text('allowed_networks').notNull().default(''),
  /** The ids of the companies whose tickets it may write to, separated by spaces; empty for all. */
  companies: text('companies').notNull().default(''),
  /** The key's purpose and contact; empty if not given. */
  description: text('description').notNull().default(''),
  owner: text('owner').notNull().default(''),
  /** Counts the changes of the settings, the rotation and the revocation. */
  revision: integer('revision').notNull().default(0),
  createdAt: integer('created_at').notNull(),
  createdBy: text('created_by').notNull(),
  expiresAt: integer('expires_at'),
  revokedAt: integer('revoked_at'),
  revokedBy: text('revoked_by'),
  /** The key that replaced this one in a rotation: at most one, set permanently. */
  successorId: text('successor_id'),
  /** The one-time token of the form that created the key, so that a form creates only one key. */
  formToken: text('form_token'),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.id] }),
  foreignKey({ columns: [t.organizationId, t.createdBy], foreignColumns: [users.organizationId, users.id] }),
  uniqueIndex('api_keys_hash').on(t.hash),
  uniqueIndex('api_keys_name_in_use')
    .on(t.organizationId, t.name)
    .where(sql`revoked_at is null and successor_id is null`),
  uniqueIndex('api_keys_successor').on(t.organizationId, t.successorId).where(sql`successor_id is not null`),
  uniqueIndex('api_keys_form_token').on(t.organizationId, t.formToken).where(sql`form_token is not null`),
  index('api_keys_unrevoked').on(t.organizationId, t.expiresAt).where(sql`revoked_at is null`),
  index('api_keys_hint').on(t.organizationId, t.hint),
  check('api_keys_name', sql`length(trim("name")) between 1 and 100`),
  check('api_keys_hash', sql`length("hash") = 64 and "hash" not glob '*[^0-9a-f]*'`),
  check('api_keys_scopes', words('scopes')),
  check('api_keys_day_limits', sql`"day_limit_records" > 0 and "day_limit_minutes" > 0`),
  check('api_keys_revoked', sql`("revoked_at" is null) = ("revoked_by" is null)`),
]);

const recordColumns = {
  organizationId: organizationId(),
  id: id(),
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

export const notes = table('notes', { ...recordColumns, message: text('message').notNull() })((t) => [
  primaryKey({ columns: [t.organizationId, t.id] }),
  foreignKey({ columns: [t.organizationId, t.ticketId], foreignColumns: [tickets.organizationId, tickets.id] }),
  foreignKey({ columns: [t.organizationId, t.keyId], foreignColumns: [apiKeys.organizationId, apiKeys.id] }),
  check('notes_message', freeText('message')),
]);

export const timeEntries = table('time_entries', {
  ...recordColumns,
  userId: text('user_id').notNull(),
  minutes: integer('minutes').notNull(),
  description: text('description').notNull(),
  billable: flag('billable'),
  /** Calendar date in the organization's time zone, YYYY-MM-DD. */
  workDate: text('work_date').notNull(),
  hourlyRateMinor: integer('hourly_rate_minor').notNull(),
  agreementSource: text('agreement_source', { enum: AGREEMENT_SOURCES }).notNull(),
  status: text('status', { enum: TIME_ENTRY_STATUSES }).notNull(),
  /** The audit row of the approval or rejection, null while SUBMITTED: identifies that of a retried batch. */
  approvalSeq: integer('approval_seq'),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.id] }),
  foreignKey({ columns: [t.organizationId, t.ticketId], foreignColumns: [tickets.organizationId, tickets.id] }),
  foreignKey({ columns: [t.organizationId, t.userId], foreignColumns: [users.organizationId, users.id] }),
  foreignKey({ columns: [t.organizationId, t.keyId], foreignColumns: [apiKeys.organizationId, apiKeys.id] }),
  check('time_entries_minutes', between('minutes', 1, MAX_MINUTES)),
  check('time_entries_description', freeText('description')),
  check('time_entries_work_date', sql`"work_date" is date("work_date")`),
  check('time_entries_rate', between('hourly_rate_minor', 0, MAX_HOURLY_RATE_MINOR)),
  check('time_entries_source', oneOf('agreement_source', AGREEMENT_SOURCES)),
  check('time_entries_status', oneOf('status', TIME_ENTRY_STATUSES)),
]);

/** Append-only. `seq` counts from 1 without gaps within an organization, in commit order. */
export const auditLog = table('audit_log', {
  organizationId: ofOrganization(),
  seq: integer('seq').notNull(),
  at: integer('at').notNull(),
  actorType: text('actor_type', { enum: ACTOR_TYPES }).notNull(),
  actorId: text('actor_id').notNull(),
  actorName: text('actor_name').notNull(),
  /** `kind.what_happened`, such as `note.created`. */
  action: text('action').notNull(),
  targetId: text('target_id').notNull(),
  ticketId: text('ticket_id'),
  requestId: text('request_id').notNull(),
  idempotencyKey: text('idempotency_key'),
  sourceAddress: text('source_address'),
  userAgent: text('user_agent'),
  /** The old and new values in words, only if the action alone does not say it. */
  detail: text('detail'),
  /**
   * What all keys of the organization have written on the latest day of the log, this row
   * included: the calendar date in the organization's time zone, new records and bytes of text,
   * and the changes by administrators that are limited. The day also advances with such a change.
   */
  day: text('day').notNull().default(''),
  dayRecords: integer('day_records').notNull().default(0),
  dayBytes: integer('day_bytes').notNull().default(0),
  dayChanges: integer('day_changes').notNull().default(0),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.seq] }),
  // Partial, so that writes of the API do not touch them.
  index('audit_log_actor').on(t.organizationId, t.actorId, t.seq).where(sql`actor_type <> 'api_key'`),
  index('audit_log_user_target').on(t.organizationId, t.targetId, t.seq).where(sql`actor_type <> 'api_key'`),
  check('audit_log_actor_type', oneOf('actor_type', ACTOR_TYPES)),
  check('audit_log_action', sql`"action" glob '[a-z]*.[a-z]*'`),
]);

/**
 * The daily ledger: what a key wrote on one day, the calendar date in the organization's time zone. Written with each
 * record, in its transaction; kept for 400 days, and as long as an audit row of the day is in the database.
 */
export const keyDays = table('key_days', {
  organizationId: organizationId(),
  chainId: text('chain_id').notNull(),
  day: text('day').notNull(),
  keyId: text('key_id').notNull(),
  notes: integer('notes').notNull(),
  timeEntries: integer('time_entries').notNull(),
  minutes: integer('minutes').notNull(),
  /** Bytes of text in UTF-8, as they were written: a redaction changes nothing here. */
  bytes: integer('bytes').notNull(),
  /** The first and the last audit row of the key's writes on that day. */
  firstSeq: integer('first_seq').notNull(),
  lastSeq: integer('last_seq').notNull(),
  lastAt: integer('last_at').notNull(),
  lastAddress: text('last_address'),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.chainId, t.day, t.keyId] }),
  foreignKey({ columns: [t.organizationId, t.keyId], foreignColumns: [apiKeys.organizationId, apiKeys.id] }),
  // Long days (`LONG_DAY`): most writes have no entry in it.
  index('key_days_long').on(t.organizationId, t.day).where(sql`"minutes" >= 600`),
  check('key_days_day', sql`"day" is date("day")`),
  check(
    'key_days_counts',
    sql`"notes" >= 0 and "time_entries" >= 0 and "notes" + "time_entries" > 0 and "minutes" >= 0 and "bytes" > 0`,
  ),
  check('key_days_seqs', sql`"first_seq" between 1 and "last_seq"`),
]);

/** Refused requests with a key of the organization, by reason. The count is a lower bound. */
export const refusedUses = table('refused_uses', {
  organizationId: organizationId(),
  keyId: text('key_id').notNull(),
  reason: text('reason').$type<RefusedUseReason>().notNull(),
  count: integer('count').notNull(),
  firstAt: integer('first_at').notNull(),
  lastAt: integer('last_at').notNull(),
  /** The address of the last use; removed after 30 days. */
  sourceAddress: text('source_address'),
  /** The latest lost writes, latest first: a JSON array, or null for none. */
  lostWrites: text('lost_writes'),
  /** From when on it needs no attention: an administrator settled it or repaired its cause, or a daily limit's day ends. */
  endsAt: integer('ends_at'),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.keyId, t.reason] }),
  foreignKey({ columns: [t.organizationId, t.keyId], foreignColumns: [apiKeys.organizationId, apiKeys.id] }),
  index('refused_uses_latest').on(t.organizationId, t.lastAt),
  index('refused_uses_with_address').on(t.lastAt).where(sql`source_address is not null`),
  check('refused_uses_reason', words('reason')),
  check('refused_uses_count', sql`"count" > 0`),
]);

/** The organization's rules for new keys and for access reviews. Without a row there are none. */
export const keyRules = table('key_rules', {
  organizationId: onceForOrganization(),
  /** The longest lifetime of a new key; null if it is not limited. */
  maxLifetimeDays: integer('max_lifetime_days'),
  expiryRequired: flag('expiry_required'),
  /** The months between two access reviews, and since when they are required; null if they are not. */
  accessReviewMonths: integer('access_review_months'),
  accessReviewsSince: integer('access_reviews_since'),
  /** Counts the changes, so that no form overwrites a change that it did not show. */
  revision: integer('revision').notNull(),
})(() => [
  check('key_rules_lifetime', sql`"max_lifetime_days" is null or ("max_lifetime_days" > 0 and "expiry_required" = 1)`),
  check(
    'key_rules_access_reviews',
    sql`("access_review_months" is null) = ("access_reviews_since" is null) and ("access_review_months" is null or "access_review_months" > 0)`,
  ),
]);

/** An access review of the keys that were live when it began. At most one of an organization is open. */
export const accessReviews = table('access_reviews', {
  organizationId: ofOrganization(),
  id: id(),
  startedAt: integer('started_at').notNull(),
  startedBy: text('started_by').notNull(),
  /** JSON array: the ids of the keys that were live when the review began. */
  keyIds: text('key_ids').notNull(),
  finishedAt: integer('finished_at'),
  finishedBy: text('finished_by'),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.id] }),
  foreignKey({ columns: [t.organizationId, t.startedBy], foreignColumns: [users.organizationId, users.id] }),
  foreignKey({ columns: [t.organizationId, t.finishedBy], foreignColumns: [users.organizationId, users.id] }),
  uniqueIndex('access_reviews_one_open').on(t.organizationId).where(sql`finished_at is null`),
  check('access_reviews_keys', sql`json_type("key_ids") = 'array'`),
  check('access_reviews_finished', sql`("finished_at" is null) = ("finished_by" is null)`),
]);

/** The latest decision on a key in an access review. Triggers keep the decisions of a finished review unchanged. */
export const accessReviewDecisions = table('access_review_decisions', {
  organizationId: organizationId(),
  reviewId: text('review_id').notNull(),
  keyId: text('key_id').notNull(),
  decision: text('decision', { enum: REVIEW_DECISIONS }).notNull(),
  reason: text('reason').notNull(),
  decidedAt: integer('decided_at').notNull(),
  decidedBy: text('decided_by').notNull(),
  /** The name of the key and its last write, as they were at the decision. */
  keyName: text('key_name').notNull(),
  lastWriteAt: integer('last_write_at'),
  /** JSON object: the settings of the key at the decision. */
  keySettings: text('key_settings').notNull(),
  /** Whether its creator was no longer an administrator at the decision. */
  ofFormer: flag('of_former').default(false),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.reviewId, t.keyId] }),
  foreignKey({
    columns: [t.organizationId, t.reviewId],
    foreignColumns: [accessReviews.organizationId, accessReviews.id],
  }),
  foreignKey({ columns: [t.organizationId, t.keyId], foreignColumns: [apiKeys.organizationId, apiKeys.id] }),
  foreignKey({ columns: [t.organizationId, t.decidedBy], foreignColumns: [users.organizationId, users.id] }),
  check('access_review_decisions_decision', oneOf('decision', REVIEW_DECISIONS)),
  check('access_review_decisions_reason', sql.raw(`length(trim("reason")) between 1 and ${MAX_REASON_LENGTH}`)),
]);

/**
 * When each organization's directory was last changed, so that an older signed message does not undo a newer change. A
 * trigger refuses to turn it back. Kept after an erasure: it has nothing of the organization but its id.
 */
export const directoryClock = table('directory_clock', {
  organizationId: organizationId().primaryKey(),
  /** The time of the latest message or change, UTC milliseconds of a whole second. */
  at: integer('at').notNull(),
  /** JSON array: the ids of the messages of that time, in order; empty for a change without one. */
  messages: text('messages').notNull(),
})(() => [check('directory_clock_messages', sql`json_array_length("messages") > 0`)]);

/** Identifies this database: one row, created with it. Cursors of other databases are not valid. */
export const databaseEpoch = table('database_epoch', {
  id: integer('id').primaryKey(),
  epoch: text('epoch').notNull(),
})(() => [check('database_epoch_single', sql`"id" = 1`)]);

/**
 * The organizations that were erased, without any of their data; kept permanently. The triggers
 * allow deletes of an organization's audit rows only while its row here is `open`, and refuse new
 * ones then. It stays open from the first transaction of an erasure to the last.
 */
export const erasures = table('erasures', {
  organizationId: organizationId(),
  requestId: text('request_id').notNull(),
  erasedAt: integer('erased_at').notNull(),
  erasedBy: text('erased_by').notNull(),
  /** How many audit rows there were: the last `seq`. */
  lastSeq: integer('last_seq').notNull(),
  open: flag('open'),
  /** JSON array: the objects of the archive that could not be exported before the erasure. */
  notExported: text('not_exported').notNull().default('[]'),
  /** When and by whom the organization was created again. Until then, its directory is refused. */
  recreatedAt: integer('recreated_at'),
  recreatedBy: text('recreated_by'),
})((t) => [primaryKey({ columns: [t.organizationId, t.requestId] })]);

/** The records that the PSA could not take. A row is deleted when the PSA has taken the record. */
export const psaRefusals = table('psa_refusals', {
  organizationId: ofOrganization(),
  /** The id of a note or time entry, archived or not: there is no foreign key. */
  recordId: text('record_id').notNull(),
  kind: text('kind').notNull(),
  reason: text('reason').notNull(),
  refusedAt: integer('refused_at').notNull(),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.recordId] }),
  check('psa_refusals_kind', words('kind')),
  check('psa_refusals_reason', freeText('reason')),
]);

/** A copy of each push object's state. */
export const pushes = table('pushes', {
  organizationId: onceForOrganization(),
  /** The last change that the receiver has confirmed, or an operator skipped; 0 for none. */
  confirmedSeq: integer('confirmed_seq').notNull(),
  /** JSON array: the ranges of changes that operators skipped, each as its first and last `seq`. */
  skipped: text('skipped').notNull().default('[]'),
  confirmedAt: integer('confirmed_at'),
  failingSince: integer('failing_since'),
  /** Failed attempts since then, or since an operator's order. */
  attempts: integer('attempts').notNull(),
  /** The last failure in words, such as `HTTP 500`. */
  failure: text('failure'),
  nextAttemptAt: integer('next_attempt_at'),
  stoppedAt: integer('stopped_at'),
})((t) => [
  index('pushes_in_trouble').on(t.organizationId).where(sql`failing_since is not null or stopped_at is not null`),
  check('pushes_counts', sql`"confirmed_seq" >= 0 and "attempts" >= 0`),
]);

/** What the adapter that connects an organization with its PSA reported last. */
export const connections = table('connections', {
  organizationId: onceForOrganization(),
  /** Identifies the adapter: of two for one organization, the second stops. */
  adapter: text('adapter').notNull(),
  reportedAt: integer('reported_at').notNull(),
  failingSince: integer('failing_since'),
  failure: text('failure'),
  /** Since when it writes nothing until a person resumes it. */
  stoppedAt: integer('stopped_at'),
})(() => [
  check('connections_failure', sql`"failing_since" is not null or ("failure" is null and "stopped_at" is null)`),
]);

/** Alerts about facts that exist, one row for each channel. A sent row keeps its alert from being sent again. */
export const alerts = table('alerts', {
  /** Empty for an alert about the deployment: there is no foreign key. */
  organizationId: organizationId(),
  /** The type of the fact, and what distinguishes it from others of the type. */
  type: text('type').notNull(),
  subject: text('subject').notNull(),
  channel: text('channel').notNull(),
  /** How urgent it is. A fact that becomes more urgent is sent again, under a new id. */
  level: integer('level').notNull(),
  id: id(),
  foundAt: integer('found_at').notNull(),
  /** The data of the message as JSON, as it was when the fact was found. */
  data: text('data').notNull(),
  attempts: integer('attempts').notNull(),
  nextAttemptAt: integer('next_attempt_at').notNull(),
  /** The last failure in words, such as `HTTP 500`. */
  failure: text('failure'),
  /** When it was sent; null while it waits. */
  sentAt: integer('sent_at'),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.type, t.subject, t.channel] }),
  index('alerts_type').on(t.type),
  index('alerts_waiting').on(t.channel, t.nextAttemptAt).where(sql`sent_at is null`),
  check('alerts_type', words('type')),
  check('alerts_channel', words('channel')),
  check('alerts_data', sql`json_type("data") = 'object'`),
]);

/** Up to where the PSA has confirmed that it stored an organization's changes. It only advances. */
export const releases = table('releases', {
  organizationId: onceForOrganization(),
  seq: integer('seq').notNull(),
  releasedAt: integer('released_at').notNull(),
})(() => [check('releases_seq', sql`"seq" > 0`)]);

/** Up to which audit row every time entry of an organization is decided: its queue is read from there on. */
export const approvalMarks = table('approval_marks', {
  organizationId: onceForOrganization(),
  seq: integer('seq').notNull(),
})(() => [check('approval_marks_seq', sql`"seq" > 0`)]);

/** The parts of audit logs that are objects in R2, without gaps from 1 on: only their rows can be deleted. */
export const archives = table('archives', {
  organizationId: ofOrganization(),
  toSeq: integer('to_seq').notNull(),
  fromSeq: integer('from_seq').notNull(),
  /** When the first and the last of its rows were written. */
  firstAt: integer('first_at').notNull(),
  lastAt: integer('last_at').notNull(),
  /** The request of its last row, which cursors at its end name. */
  lastRequestId: text('last_request_id').notNull(),
  /** The name of the object in R2, its SHA-256 in hex, and its size. */
  object: text('object').notNull(),
  digest: text('digest').notNull(),
  bytes: integer('bytes').notNull(),
  /** Counts the replacements of the object: a call that read an earlier one replaces nothing. */
  revision: integer('revision').notNull().default(0),
  /** When the SHA-256 of the object was last compared, or the object stored. */
  checkedAt: integer('checked_at').notNull().default(0),
  /** Since when the object is known to be missing or damaged; null if it is not. */
  damagedAt: integer('damaged_at'),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.toSeq] }),
  index('archives_checked').on(t.checkedAt),
  index('archives_damaged').on(t.organizationId, t.toSeq).where(sql`damaged_at is not null`),
  check('archives_range', sql`"from_seq" between 1 and "to_seq"`),
  check('archives_digest', sql`length("digest") = 64 and "digest" not glob '*[^0-9a-f]*'`),
]);

/** The stub that a record leaves when it is archived: enough to answer its replays, permanently. */
const archivedColumns = {
  organizationId: organizationId(),
  /** The 16 bytes of the UUID. */
  id: blob('id').$type<Uint8Array>().notNull(),
  ticketId: text('ticket_id').notNull(),
  createdAt: integer('created_at').notNull(),
  /** The rotation chain of the key that wrote it: the 16 bytes of `api_keys.chain_id`. */
  chainId: blob('chain_id').$type<Uint8Array>().notNull(),
  /** The first 16 bytes of the request's digest; null if the record was redacted. */
  requestDigest: blob('request_digest').$type<Uint8Array>(),
  /** The audit row with which it was archived: its write. */
  archivedSeq: integer('archived_seq').notNull(),
  /** Whether it was redacted: its text is removed from whatever is read of the archive. */
  redacted: flag('redacted').default(false),
};
const archivedChecks = (table: string) => [
  check(`${table}_ids`, sql`length("id") = 16 and length("chain_id") = 16`),
  check(`${table}_digest`, sql`"request_digest" is null or length("request_digest") = 16`),
];

export const archivedNotes = table(
  'archived_notes',
  archivedColumns,
)((t) => [primaryKey({ columns: [t.organizationId, t.id] }), ...archivedChecks('archived_notes')]);

export const archivedTimeEntries = table('archived_time_entries', {
  ...archivedColumns,
  userId: text('user_id').notNull(),
  minutes: integer('minutes').notNull(),
  billable: flag('billable'),
  /** Days since 1970-01-01. */
  workDay: integer('work_day').notNull(),
  hourlyRateMinor: integer('hourly_rate_minor').notNull(),
  /** Whether the rate is that of an agreement; if not, it is the organization's default. */
  byAgreement: flag('by_agreement'),
  /** Whether the entry was approved; if not, it was rejected, or is SUBMITTED. */
  approved: flag('approved'),
  /** The audit row of the approval or rejection, null while SUBMITTED: the same as in `time_entries`. */
  approvalSeq: integer('approval_seq'),
})((t) => [
  primaryKey({ columns: [t.organizationId, t.id] }),
  ...archivedChecks('archived_time_entries'),
  index('archived_time_entries_waiting').on(t.organizationId, t.archivedSeq).where(sql`approval_seq is null`),
]);
