import type { ActorType } from '../../domain/audit-actions.ts';
import { forEachKind, type RecordKind } from '../../domain/record-kinds.ts';
import { insertInto, statement } from '../statement.ts';
import { RECORD_TABLES } from '../work/record-tables.ts';
import { NEXT_SEQ } from './audit-columns.ts';

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
}

/** Where an actor is found, and the name that the log keeps. */
const ACTORS: Record<ActorType, { from: string; name: string }> = {
  api_key: { from: 'api_keys a where a.organization_id = :organizationId and a.id = :actorId', name: 'a.name' },
  user: { from: 'users a where a.organization_id = :organizationId and a.id = :actorId', name: 'a.name' },
  system: { from: 'organizations a where a.id = :organizationId', name: ':actorName' },
};

/** The statement that inserts the audit row. `ticketId` is the SQL expression for its ticket. */
function auditRow(actorType: ActorType, ticketId: string) {
  const { from, name } = ACTORS[actorType];
  const row = insertInto('audit_log', {
    organization_id: ':organizationId',
    seq: NEXT_SEQ,
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
  });
  return statement<AuditValues>(`${row} from ${from} and changes() = 1`);
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
