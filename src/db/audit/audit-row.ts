import type { ActorType } from '../../domain/audit-actions.ts';
import { forEachKind, type RecordKind } from '../../domain/record-kinds.ts';
import { statement } from '../statement.ts';
import { RECORD_TABLES } from '../work/record-tables.ts';

// An audit row is written only by the statement that follows a write in the same batch, and only if that write changed
// a row. There is no `on conflict`: on a conflict this statement fails, and the write with it.

interface AuditValues {
  organizationId: string;
  now: number;
  actorId: string;
  /** Used for `system` only. The names of keys and users come from the database. */
  actorName: string;
  action: string;
  targetId: string;
  ticketId: string | null;
  requestId: string;
  idempotencyKey: string | null;
  sourceAddress: string | null;
  userAgent: string | null;
  detail: string | null;
  /** The day of a new record, in the organization's time zone; null for any other change. */
  day: string | null;
  records: number;
  bytes: number;
}

const ACTORS: Record<ActorType, { table: string; where: string; name: string }> = {
  api_key: { table: 'api_keys', where: 'a.organization_id = :organizationId and a.id = :actorId', name: 'a.name' },
  user: { table: 'users', where: 'a.organization_id = :organizationId and a.id = :actorId', name: 'a.name' },
  system: { table: 'organizations', where: 'a.id = :organizationId', name: ':actorName' },
};

/**
 * The statement that inserts the audit row after the latest one, `p`. `ticketId` is the SQL expression for its ticket.
 * The totals of the day continue those of `p`, or begin with a later day. A record of an earlier day (a write that took
 * long at midnight, or after a change of the time zone) changes no total.
 */
function auditRow(actorType: ActorType, ticketId: string) {
  const { table, where, name } = ACTORS[actorType];
  return statement<AuditValues>(`
    insert into audit_log (
      organization_id, seq, at, actor_type, actor_id, actor_name,
      action, target_id, ticket_id, request_id, idempotency_key,
      source_address, user_agent, detail,
      day,
      day_records,
      day_bytes)
    select
      :organizationId, coalesce(p.seq, 0) + 1, :now, '${actorType}', :actorId, ${name},
      :action, :targetId, ${ticketId}, :requestId, :idempotencyKey,
      :sourceAddress, :userAgent, :detail,
      max(coalesce(p.day, ''), coalesce(:day, '')),
      iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_records, 0)) + iif(:day >= coalesce(p.day, ''), :records, 0),
      iif(:day > coalesce(p.day, ''), 0, coalesce(p.day_bytes, 0)) + iif(:day >= coalesce(p.day, ''), :bytes, 0)
    from ${table} a
    left join audit_log p on p.organization_id = :organizationId
      and p.seq = (select max(seq) from audit_log where organization_id = :organizationId)
    where ${where} and changes() = 1`);
}

const ticketOf = (kind: RecordKind) =>
  `(select r.ticket_id from ${RECORD_TABLES[kind].table} r where r.organization_id = :organizationId and r.id = :targetId)`;

const auditRowsOf = (actorType: ActorType) => ({
  /** For a change whose ticket, if any, is passed in. */
  given: auditRow(actorType, ':ticketId'),
  /** For a change to an existing record: uses the ticket of that record. */
  ofRecord: forEachKind((kind) => auditRow(actorType, ticketOf(kind))),
});

export const AUDIT_ROWS = { api_key: auditRowsOf('api_key'), user: auditRowsOf('user'), system: auditRowsOf('system') };
