import { columns, statement } from '../../db/statement.ts';
import type { ActorType } from '../../domain/audit-actions.ts';

/** An audit row of an administrator, the PSA or an operator, with the key that it is about. */
export interface KeyActionRow {
  seq: number;
  /** UTC milliseconds. */
  at: number;
  action: string;
  requestId: string;
  actorType: ActorType;
  actorId: string;
  actorName: string;
  /** The key as it is now; null if the row is about something else. */
  keyId: string | null;
  keyName: string;
  keyHint: string;
  keyExpiresAt: number | null;
  successorId: string | null;
  successorHint: string | null;
  /** 1 if the row is a part of the rotation of a key, but not the one that names it. */
  isOfRotation: number;
}

/** The rows after `seq` that are not of keys, in their order. A rotation writes up to three at once. */
export const findKeyActions = statement<{ organizationId: string; seq: number; limit: number }, KeyActionRow>(`
  select ${columns<KeyActionRow>({
    seq: 'a.seq',
    at: 'a.at',
    action: 'a.action',
    requestId: 'a.request_id',
    actorType: 'a.actor_type',
    actorId: 'a.actor_id',
    actorName: 'a.actor_name',
    keyId: 'k.id',
    keyName: 'k.name',
    keyHint: 'k.hint',
    keyExpiresAt: 'k.expires_at',
    successorId: 's.id',
    successorHint: 's.hint',
    isOfRotation: `exists (select 1 from audit_log r where r.organization_id = a.organization_id
      and r.seq between a.seq - 2 and a.seq - 1 and r.request_id = a.request_id and r.action = 'api_key.rotated')`,
  })}
  from audit_log a indexed by audit_log_not_by_keys
  left join api_keys k on k.organization_id = a.organization_id and k.id = a.target_id
  left join api_keys s on s.organization_id = k.organization_id and s.id = k.successor_id
  where a.organization_id = :organizationId and a.actor_type <> 'api_key' and a.seq > :seq
  order by a.seq limit :limit`);
