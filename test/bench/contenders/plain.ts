import { hashKey } from '../../../src/domain/api-key.ts';

interface PlainKey {
  organization_id: string;
  id: string;
  name: string;
  expires_at: number | null;
  revoked_at: number | null;
  scopes: string;
  has_psa: number;
}

interface PlainEntry {
  ticketId: string;
  minutes: number;
  description: string;
  billable: boolean;
}

const FIND_KEY = `select api_keys.organization_id, api_keys.id, api_keys.name, expires_at, revoked_at, scopes, has_psa
  from api_keys join organizations on organizations.id = organization_id where hash = ?1`;

const NEXT_SEQ = '(select coalesce(max(seq), 0) + 1 from audit_log where organization_id = ?1)';

const INSERT_ENTRY = `insert into time_entries (organization_id, id, ticket_id, created_at, key_id, request_id, request_digest, audit_seq,
    user_id, minutes, description, billable, work_date, hourly_rate_minor, agreement_source, approvals, status)
  values (?1, ?2, ?3, ?4, ?5, ?6, '', ${NEXT_SEQ}, 'automation', ?7, ?8, ?9, ?10, 15000, 'company_default', 'settings', 'SUBMITTED')`;

const INSERT_AUDIT = `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, ticket_id, request_id)
  values (?1, ${NEXT_SEQ}, ?2, 'api_key', ?3, ?4, 'time_entry.created', ?5, ?6, ?7)`;

export const hashOf = (authorization: string | null | undefined) =>
  hashKey(authorization?.slice('Bearer '.length) ?? '');

export const findPlainKey = (db: D1Database, hash: string) => db.prepare(FIND_KEY).bind(hash).first<PlainKey>();

/** Whether the key may write, as far as a plain service checks it. */
export const mayWrite = (key: PlainKey): boolean =>
  key.revoked_at === null && (key.expires_at ?? Infinity) > Date.now() && key.scopes.includes('tickets:time:write');

/** Two plain inserts: the entry, with a user and a rate that nothing looks up, and its audit row. Returns the response. */
export async function plainWrite(db: D1Database, key: PlainKey, entry: PlainEntry) {
  const { ticketId, minutes, description, billable } = entry;
  const [id, requestId] = [crypto.randomUUID(), crypto.randomUUID()];
  const now = Date.now();
  const workDate = new Date(now).toISOString().slice(0, 10);
  const own = [ticketId, now, key.id, requestId, minutes, description, Number(billable), workDate];
  await db.batch([
    db.prepare(INSERT_ENTRY).bind(key.organization_id, id, ...own),
    db.prepare(INSERT_AUDIT).bind(key.organization_id, now, key.id, key.name, id, ticketId, requestId),
  ]);
  return { entry: { id, ...entry, status: 'SUBMITTED', hourlyRate: 150 } };
}
