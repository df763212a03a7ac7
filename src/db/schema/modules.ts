import { sql } from 'drizzle-orm';
import { check, foreignKey, index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { flags, words } from './checks.ts';
import { organizations } from './directory.ts';

/** A copy of each push object's state. */
export const pushes = sqliteTable(
  'pushes',
  {
    organizationId: text('organization_id').primaryKey().notNull(),
    /** The last change that the receiver has confirmed; 0 for none. */
    confirmedSeq: integer('confirmed_seq').notNull(),
    failingSince: integer('failing_since'),
    /** Failed attempts since then, or since an operator's order. */
    attempts: integer('attempts').notNull(),
    /** The last failure in words, such as `HTTP 500`. */
    failure: text('failure'),
    nextAttemptAt: integer('next_attempt_at'),
    stoppedAt: integer('stopped_at'),
  },
  (t) => [
    foreignKey({ columns: [t.organizationId], foreignColumns: [organizations.id] }),
    check('pushes_counts', sql`confirmed_seq >= 0 and attempts >= 0`),
    index('pushes_in_trouble').on(t.organizationId).where(sql`failing_since is not null or stopped_at is not null`),
  ],
);

/** What the adapter that connects an organization with its PSA reported last. */
export const connections = sqliteTable(
  'connections',
  {
    organizationId: text('organization_id').primaryKey().notNull(),
    /** Identifies the adapter: of two for one organization, the second stops. */
    adapterId: text('adapter_id').notNull(),
    reportedAt: integer('reported_at').notNull(),
    failingSince: integer('failing_since'),
    failure: text('failure'),
    /** Since when it writes nothing until a person resumes it. */
    stoppedAt: integer('stopped_at'),
    /** The name of the PSA, if the adapter says it. */
    psaName: text('psa_name'),
  },
  (t) => [
    foreignKey({ columns: [t.organizationId], foreignColumns: [organizations.id] }),
    check('connections_failure', sql`failing_since is not null or (failure is null and stopped_at is null)`),
  ],
);

/** Alerts about facts that exist. A sent one keeps its alert from being sent again. */
export const alerts = sqliteTable(
  'alerts',
  {
    organizationId: text('organization_id').notNull(),
    /** The type of the fact, and what distinguishes it from others of the type. */
    type: text('type').notNull(),
    subject: text('subject').notNull(),
    /** How urgent it is. A fact that becomes more urgent is sent again, under a new id. */
    level: integer('level').notNull(),
    id: text('id').notNull(),
    foundAt: integer('found_at').notNull(),
    text: text('text').notNull(),
    /** 1 while it has to be sent to the receiver of the push, or to ALERT_URL. */
    toReceiver: integer('to_receiver').notNull(),
    toChat: integer('to_chat').notNull(),
    /** When a run claimed it last; 0 before. */
    triedAt: integer('tried_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organizationId, t.type, t.subject] }),
    check('alerts_type', words('type')),
    check('alerts_unsent', flags('to_receiver', 'to_chat')),
    index('alerts_type').on(t.type),
    index('alerts_unsent').on(t.foundAt).where(sql`to_receiver + to_chat > 0`),
  ],
);
