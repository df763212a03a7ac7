import { and, eq, type SQL, sql } from 'drizzle-orm';
import { builder, statement, value } from '../client.ts';
import { apiKeys, auditLog, notes, organizations, timeEntries, users } from '../schema.ts';

// An audit row exists only as the statement right behind a write, in the same batch: it adds a row if and only if that write changed
// one. There is no `on conflict`, so that it fails, and the write with it, rather than vanish.

/** The number that the organization's next audit row gets. */
export const nextSeq = sql<number>`(select coalesce(max(${auditLog.seq}), 0) + 1 from ${auditLog} where ${eq(auditLog.organizationId, sql.placeholder('organizationId'))})`;

interface AuditValues {
  organizationId: string;
  now: number;
  action: string;
  targetId: string;
  requestId: string;
  sourceAddress: string | null;
  userAgent: string | null;
}

const event = {
  action: value<string>('action').as('action'),
  targetId: value<string>('targetId').as('target_id'),
};
const origin = {
  sourceAddress: value<string | null>('sourceAddress').as('source_address'),
  userAgent: value<string | null>('userAgent').as('user_agent'),
};

/** The audit row of a write made with a key. */
export const auditKeyWrite = statement<AuditValues & { keyId: string; ticketId: string; idempotencyKey: string | null }>(
  builder.insert(auditLog).select(
    builder
      .select({
        organizationId: sql<string>`${apiKeys.organizationId}`.as('organization_id'),
        seq: nextSeq.as('seq'),
        at: value<number>('now').as('at'),
        actorType: sql<'api_key'>`'api_key'`.as('actor_type'),
        actorId: sql<string>`${apiKeys.id}`.as('actor_id'),
        actorName: sql<string>`${apiKeys.name}`.as('actor_name'),
        ...event,
        ticketId: value<string>('ticketId').as('ticket_id'),
        requestId: value<string>('requestId').as('request_id'),
        idempotencyKey: value<string | null>('idempotencyKey').as('idempotency_key'),
        ...origin,
        detail: sql<null>`null`.as('detail'),
      })
      .from(apiKeys)
      .where(
        and(eq(apiKeys.organizationId, sql.placeholder('organizationId')), eq(apiKeys.id, sql.placeholder('keyId')), sql`changes() = 1`),
      ),
  ),
);

const userAction = (ticketId: SQL.Aliased<string | null>, detail: SQL.Aliased<string | null> = sql<null>`null`.as('detail')) =>
  builder.insert(auditLog).select(
    builder
      .select({
        organizationId: sql<string>`${users.organizationId}`.as('organization_id'),
        seq: nextSeq.as('seq'),
        at: value<number>('now').as('at'),
        actorType: sql<'user'>`'user'`.as('actor_type'),
        actorId: sql<string>`${users.id}`.as('actor_id'),
        actorName: sql<string>`${users.name}`.as('actor_name'),
        ...event,
        ticketId,
        requestId: value<string>('requestId').as('request_id'),
        idempotencyKey: sql<null>`null`.as('idempotency_key'),
        ...origin,
        detail,
      })
      .from(users)
      .where(
        and(eq(users.organizationId, sql.placeholder('organizationId')), eq(users.id, sql.placeholder('actorId')), sql`changes() = 1`),
      ),
  );

/** The audit row of what an administrator did, with words on what was changed. */
export const auditUserChange = statement<AuditValues & { actorId: string; detail: string | null }>(
  userAction(sql<null>`null`.as('ticket_id'), value<string | null>('detail').as('detail')),
);

/** The ticket of the record that is the target. */
const ticketOf = {
  note: builder.select({ ticketId: notes.ticketId }).from(notes).where(targetIn(notes)),
  time_entry: builder.select({ ticketId: timeEntries.ticketId }).from(timeEntries).where(targetIn(timeEntries)),
};

function targetIn(table: typeof notes | typeof timeEntries) {
  return and(eq(table.organizationId, sql.placeholder('organizationId')), eq(table.id, sql.placeholder('targetId')));
}

/** The audit row of an administrator's review of a time entry. */
export const auditReview = statement<AuditValues & { actorId: string }>(
  userAction(sql<string | null>`${ticketOf.time_entry}`.as('ticket_id')),
);

const systemAction = (ticketId: SQL.Aliased<string | null>) =>
  statement<AuditValues & { actorId: string; actorName: string }>(
    builder.insert(auditLog).select(
      builder
        .select({
          organizationId: sql<string>`${organizations.id}`.as('organization_id'),
          seq: nextSeq.as('seq'),
          at: value<number>('now').as('at'),
          actorType: sql<'system'>`'system'`.as('actor_type'),
          actorId: value<string>('actorId').as('actor_id'),
          actorName: value<string>('actorName').as('actor_name'),
          ...event,
          ticketId,
          requestId: value<string>('requestId').as('request_id'),
          idempotencyKey: sql<null>`null`.as('idempotency_key'),
          ...origin,
          detail: sql<null>`null`.as('detail'),
        })
        .from(organizations)
        .where(and(eq(organizations.id, sql.placeholder('organizationId')), sql`changes() = 1`)),
    ),
  );

/** The audit row of what the PSA or an operator did to a record or a key. */
export const auditSystemAction = {
  note: systemAction(sql<string | null>`${ticketOf.note}`.as('ticket_id')),
  time_entry: systemAction(sql<string | null>`${ticketOf.time_entry}`.as('ticket_id')),
  api_key: systemAction(sql<null>`null`.as('ticket_id')),
};
