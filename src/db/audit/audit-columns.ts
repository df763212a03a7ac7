import type { ActorType } from '../../domain/audit-actions.ts';
import type { Fields } from '../statement.ts';

/** The number of the organization's next audit row, as an SQL expression. */
export const NEXT_SEQ = '(select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)';

export interface AuditColumns {
  seq: number;
  /** UTC milliseconds. */
  at: number;
  actorType: ActorType;
  actorId: string;
  /** The actor's name at that time. */
  actorName: string;
  action: string;
  targetId: string;
  ticketId: string | null;
  requestId: string;
  idempotencyKey: string | null;
  detail: string | null;
}

export const AUDIT_COLUMNS: Fields<AuditColumns> = {
  seq: 'a.seq',
  at: 'a.at',
  actorType: 'a.actor_type',
  actorId: 'a.actor_id',
  actorName: 'a.actor_name',
  action: 'a.action',
  targetId: 'a.target_id',
  ticketId: 'a.ticket_id',
  requestId: 'a.request_id',
  idempotencyKey: 'a.idempotency_key',
  detail: 'a.detail',
};
