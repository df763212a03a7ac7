import { sql } from 'drizzle-orm';
import { check, foreignKey, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { ACTOR_TYPES } from '../../domain/audit-actions.ts';
import { oneOf } from './checks.ts';
import { organizations } from './directory.ts';

/** Append-only. `seq` counts from 1 without gaps within an organization, in commit order. */
export const auditLog = sqliteTable(
  'audit_log',
  {
    organizationId: text('organization_id').notNull(),
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
     * What all keys of the organization have written on the latest day of the log, this row included: the calendar date in
     * the organization's time zone, new records and bytes of text.
     */
    day: text('day').notNull().default(''),
    dayRecords: integer('day_records').notNull().default(0),
    dayBytes: integer('day_bytes').notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.seq] }),
    foreignKey({ columns: [t.organizationId], foreignColumns: [organizations.id] }),
    check('audit_log_actor_type', oneOf('actor_type', ACTOR_TYPES)),
    check('audit_log_action', sql`action glob '[a-z]*.[a-z]*'`),
    index('audit_log_actor').on(t.organizationId, t.actorType, t.actorId, t.seq),
    // Partial, so that writes of the API do not touch it.
    index('audit_log_user_target').on(t.organizationId, t.targetId, t.seq).where(sql`actor_type <> 'api_key'`),
  ],
);
