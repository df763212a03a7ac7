import { sql } from 'drizzle-orm';
import { check, foreignKey, index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core';
import { MAX_MINUTES } from '../../domain/record-kinds.ts';
import type { RefusedUseReason } from '../../domain/refused-use.ts';
import { flags, words } from './checks.ts';
import { organizations, users } from './directory.ts';

export const apiKeys = sqliteTable(
  'api_keys',
  {
    organizationId: text('organization_id').notNull(),
    id: text('id').notNull(),
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
    /** The key that replaced this one: at most one, set permanently. */
    successorId: text('successor_id'),
    /** The one-time token of the form that created the key, so that a form creates only one key. */
    formToken: text('form_token'),
    /** The ids of the companies whose tickets it may write to, separated by spaces; empty for all. */
    companies: text('companies').notNull().default(''),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.id] }),
    foreignKey({ columns: [t.organizationId], foreignColumns: [organizations.id] }),
    foreignKey({ columns: [t.organizationId, t.createdBy], foreignColumns: [users.organizationId, users.id] }),
    check('api_keys_name', sql`length(trim(name)) between 1 and 100`),
    check('api_keys_hash', sql`length(hash) = 64 and hash not glob '*[^0-9a-f]*'`),
    check('api_keys_scopes', words('scopes')),
    check('api_keys_day_limits', sql`day_limit_records > 0 and day_limit_minutes > 0`),
    check('api_keys_revoked', sql`(revoked_at is null) = (revoked_by is null)`),
    uniqueIndex('api_keys_form_token').on(t.organizationId, t.formToken).where(sql`form_token is not null`),
    uniqueIndex('api_keys_hash').on(t.hash),
    index('api_keys_hint').on(t.organizationId, t.hint),
    uniqueIndex('api_keys_name_in_use')
      .on(t.organizationId, t.name)
      .where(sql`revoked_at is null and successor_id is null`),
    uniqueIndex('api_keys_successor').on(t.organizationId, t.successorId).where(sql`successor_id is not null`),
    index('api_keys_unrevoked').on(t.organizationId, t.expiresAt).where(sql`revoked_at is null`),
  ],
);

/** The organization's rules for keys and their time. Without a row there are the default ones. */
export const keyRules = sqliteTable(
  'key_rules',
  {
    organizationId: text('organization_id').primaryKey().notNull(),
    /** The longest lifetime of a new key; null if it is not limited. */
    maxLifetimeDays: integer('max_lifetime_days'),
    expiryRequired: integer('expiry_required').notNull(),
    /** From how many minutes on an entry of time is marked in the queue. */
    longMinutes: integer('long_minutes').notNull(),
    /** Counts the changes, so that no form overwrites a change that it did not show. */
    revision: integer('revision').notNull(),
  },
  (t) => [
    foreignKey({ columns: [t.organizationId], foreignColumns: [organizations.id] }),
    check('key_rules_flags', flags('expiry_required')),
    check('key_rules_lifetime', sql`max_lifetime_days is null or (max_lifetime_days > 0 and expiry_required = 1)`),
    check('key_rules_long_minutes', sql.raw(`long_minutes between 1 and ${MAX_MINUTES}`)),
  ],
);

/** Refused requests with a key of the organization, by reason and daily limit. The count is a lower bound in a flood. */
export const refusedUses = sqliteTable(
  'refused_uses',
  {
    organizationId: text('organization_id').notNull(),
    keyId: text('key_id').notNull(),
    reason: text('reason').$type<RefusedUseReason>().notNull(),
    count: integer('count').notNull(),
    firstAt: integer('first_at').notNull(),
    lastAt: integer('last_at').notNull(),
    /** The address of the last use; removed after 30 days. */
    sourceAddress: text('source_address'),
    /** The latest lost writes, latest first: a JSON array, or null for none. */
    lostWrites: text('lost_writes'),
    /** From when on it needs no attention: an administrator repaired its cause, or a daily limit's day ends. */
    endsAt: integer('ends_at'),
    /** Which daily limit refused; empty for another reason. */
    limitId: text('limit_id').notNull(),
    /** That limit and what the last request asked for, as JSON. */
    dayLimit: text('day_limit'),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.keyId, t.reason, t.limitId] }),
    foreignKey({ columns: [t.organizationId, t.keyId], foreignColumns: [apiKeys.organizationId, apiKeys.id] }),
    check('refused_uses_reason', words('reason')),
    check('refused_uses_count', sql`count > 0`),
    index('refused_uses_latest').on(t.organizationId, t.lastAt),
    index('refused_uses_with_address').on(t.lastAt).where(sql`source_address is not null`),
  ],
);

/** The latest refused requests with a key of the organization. Of a body, only the names of fields and a refused `userEmail`. */
export const refusedRequests = sqliteTable(
  'refused_requests',
  {
    organizationId: text('organization_id').notNull(),
    /** In the order of arrival. */
    requestId: text('request_id').notNull(),
    keyId: text('key_id').notNull(),
    at: integer('at').notNull(),
    status: integer('status').notNull(),
    /** Why it was refused: the cause of a 401, `company_not_allowed`, or the code of the response. */
    reason: text('reason').notNull(),
    /** The pointers of the refused fields: a JSON array, or null for none. A name that we do not know is `/?`. */
    pointers: text('pointers'),
    /** The ticket of its path: `?` if that is no id. */
    ticketId: text('ticket_id'),
    /** Only for `technician_not_eligible`. */
    userEmail: text('user_email'),
    /** Only for `daily_limit_reached`: which limit, as JSON. */
    dayLimit: text('day_limit'),
    sourceAddress: text('source_address'),
    userAgent: text('user_agent'),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.requestId] }),
    foreignKey({ columns: [t.organizationId, t.keyId], foreignColumns: [apiKeys.organizationId, apiKeys.id] }),
    check('refused_requests_reason', words('reason')),
    check('refused_requests_status', sql`status between 400 and 499`),
    index('refused_requests_by_key').on(t.organizationId, t.keyId, t.requestId),
    index('refused_requests_by_time').on(t.at),
  ],
);
