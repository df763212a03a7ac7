import type { ActorType } from '../../domain/audit-actions.ts';
import { number, text, textOrNull } from '../statement.ts';

/** The number of the organization's next audit row, as an SQL expression. */
export const NEXT_SEQ = '(select coalesce(max(seq), 0) + 1 from audit_log where organization_id = :organizationId)';

export const AUDIT_COLUMNS = {
  seq: number('a.seq'),
  /** UTC milliseconds. */
  at: number('a.at'),
  actorType: text<ActorType>('a.actor_type'),
  actorId: text('a.actor_id'),
  /** The actor's name at that time. */
  actorName: text('a.actor_name'),
  action: text('a.action'),
  targetId: text('a.target_id'),
  ticketId: textOrNull('a.ticket_id'),
  requestId: text('a.request_id'),
  idempotencyKey: textOrNull('a.idempotency_key'),
  detail: textOrNull('a.detail'),
};
