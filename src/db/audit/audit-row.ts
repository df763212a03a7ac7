import type { ActorType } from '../../domain/audit-actions.ts';
import { forEachKind, type RecordKind } from '../../domain/record-kinds.ts';
import { insertInto, statement } from '../statement.ts';
import { RECORD_TABLES } from '../work/record-tables.ts';
import { LATEST_ROW } from './audit-columns.ts';

// An audit row is written only by the statement that follows a write in the same batch, and only if
// that write changed a row. There is no `on conflict`: on a conflict this statement fails, and the
// write with it.

export interface AuditValues {
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
  /** The day of a new record, `YYYY-MM-DD` in the organization's time zone; null for any other change. */
  day: string | null;
  /** How many records the change adds: 1 or 0. */
  records: number;
  /** How many bytes of text the change adds. */
  bytes: number;
}

/** Where an actor is found, and the name that the log keeps. */
const ACTORS: Record<ActorType, { table: string; where: string; name: string }> = {
  api_key: { table: 'api_keys', where: 'a.organization_id = :organizationId and a.id = :actorId', name: 'a.name' },
  user: { table: 'users', where: 'a.organization_id = :organizationId and a.id = :actorId', name: 'a.name' },
  system: { table: 'organizations', where: 'a.id = :organizationId', name: ':actorName' },
};

const LATEST_DAY = "coalesce(p.day, '')";
/**
 * Continues a total on the latest row `p`, or begins that of a later day. A record of an earlier day
 * (a write that took long at midnight, or after a change of the time zone) changes no total.
 */
const carried = (total: string, added: string) =>
  `iif(:day > ${LATEST_DAY}, 0, coalesce(p.${total}, 0)) + iif(:day >= ${LATEST_DAY}, ${added}, 0)`;

/** The statement that inserts the audit row. `ticketId` is the SQL expression for its ticket. */
function auditRow(actorType: ActorType, ticketId: string) {
  const { table, where, name } = ACTORS[actorType];
  const row = insertInto('audit_log', {
    organization_id: ':organizationId',
    seq: 'coalesce(p.seq, 0) + 1',
    at: ':now',
    actor_type: `'${actorType}'`,
    actor_id: ':actorId',
    actor_name: name,
    action: ':action',
    target_id: ':targetId',
    ticket_id: ticketId,
    request_id: ':requestId',
    idempotency_key: ':idempotencyKey',
    source_address: ':sourceAddress',
    user_agent: ':userAgent',
    detail: ':detail',
    day: `max(${LATEST_DAY}, coalesce(:day, ''))`,
    day_records: carried('day_records', ':records'),
    day_bytes: carried('day_bytes', ':bytes'),
  });
  return statement<AuditValues>(`${row} from ${table} a ${LATEST_ROW} where ${where} and changes() = 1`);
}

const ticketOf = (kind: RecordKind) =>
  `(select r.ticket_id from ${RECORD_TABLES[kind].table} r where r.organization_id = :organizationId and r.id = :targetId)`;

const auditRowsOf = (actorType: ActorType) => ({
  /** For a change whose ticket, if any, is passed in. */
  given: auditRow(actorType, ':ticketId'),
  /** For a change to an existing record: uses the ticket of that record. */
  ofRecord: forEachKind((kind) => auditRow(actorType, ticketOf(kind))),
});

/** The audit row statements for each type of actor. */
export const AUDIT_ROWS = { api_key: auditRowsOf('api_key'), user: auditRowsOf('user'), system: auditRowsOf('system') };
