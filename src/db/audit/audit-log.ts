// Reads of the audit log. Written as text: a binary search and a scan that stops are beyond the builder. ?1 is always the organization.

/** A row of the audit log with what it speaks of. The key is the actor, or what an administrator did something to. */
export interface AuditRow {
  seq: number;
  at: number;
  actorType: 'api_key' | 'user' | 'system';
  actorId: string;
  /** As it was then. */
  actorName: string;
  action: string;
  targetId: string;
  ticketId: string | null;
  requestId: string;
  idempotencyKey: string | null;
  sourceAddress: string | null;
  userAgent: string | null;
  detail: string | null;
  keyId: string | null;
  keyName: string | null;
  keyHint: string | null;
  keyRevokedAt: number | null;
  minutes: number | null;
  technician: string | null;
}

const rowsOf = (seqs: string) => `select a.seq, a.at, a.actor_type as actorType, a.actor_id as actorId, a.actor_name as actorName, a.action,
    a.target_id as targetId, a.ticket_id as ticketId, a.request_id as requestId, a.idempotency_key as idempotencyKey,
    a.source_address as sourceAddress, a.user_agent as userAgent, a.detail,
    k.id as keyId, k.name as keyName, k.hint as keyHint, k.revoked_at as keyRevokedAt, e.minutes, u.name as technician
  from audit_log a
  left join api_keys k on k.organization_id = a.organization_id and k.id = iif(a.actor_type = 'api_key', a.actor_id, a.target_id)
  left join time_entries e on e.organization_id = a.organization_id and e.id = a.target_id
  left join users u on u.organization_id = e.organization_id and u.id = e.user_id
  where a.organization_id = ?1 and a.seq in (${seqs})
  order by a.seq desc`;

/** The part of the log that one page examines: below ?2, not below ?3, at most ?4 rows, newest first. */
const SCAN = `select seq, at, action, ticket_id, request_id from audit_log
  where organization_id = ?1 and seq < ?2 and seq >= ?3 order by seq desc limit ?4`;

/** The same of one key, ?5: what it did, and what was done to it. Each arm reads its own index (left to itself SQLite would scan the log) and no further than the limit. */
const SCAN_KEY = `select * from (
    select * from (select seq, at, action, ticket_id, request_id from audit_log indexed by audit_log_actor
      where organization_id = ?1 and actor_id = ?5 and seq < ?2 and seq >= ?3 order by seq desc limit ?4)
    union all
    select * from (select seq, at, action, ticket_id, request_id from audit_log indexed by audit_log_user_target
      where organization_id = ?1 and actor_type <> 'api_key' and target_id = ?5 and seq < ?2 and seq >= ?3 order by seq desc limit ?4)
  ) order by seq desc limit ?4`;

/** What to look for in the examined part. Undefined is not looked at. */
export interface AuditScan {
  before: number;
  from: number;
  examine: number;
  limit: number;
  keyId: string | undefined;
  action: string | undefined;
  ticketId: string | undefined;
  requestId: string | undefined;
  since: number | undefined;
  until: number | undefined;
}

/** How many rows a page looked at, and the last of them. */
export interface ExaminedPart {
  examined: number;
  lowest: number | null;
}

/** Two statements: the matching rows of the examined part, `AuditRow`s, and its `ExaminedPart`, from where the next page goes on. */
export function auditPage(d1: D1Database, organizationId: string, scan: AuditScan): [D1PreparedStatement, D1PreparedStatement] {
  const bounds = [organizationId, scan.before, scan.from, scan.examine, ...(scan.keyId === undefined ? [] : [scan.keyId])];
  const part = scan.keyId === undefined ? SCAN : SCAN_KEY;
  const filters: [condition: string, value: string | number | undefined][] = [
    ['action =', scan.action],
    ['ticket_id =', scan.ticketId],
    ['request_id =', scan.requestId],
    ['at >=', scan.since],
    ['at <', scan.until],
  ];
  const given = filters.flatMap(([condition, value]) => (value === undefined ? [] : [{ condition, value }]));
  const where = ['true', ...given.map(({ condition }, index) => `${condition} ?${bounds.length + 2 + index}`)].join(' and ');
  const seqs = `select seq from (${part}) where ${where} limit ?${bounds.length + 1}`;
  return [
    d1.prepare(rowsOf(seqs)).bind(...bounds, scan.limit, ...given.map(({ value }) => value)),
    d1.prepare(`select count(*) as examined, min(seq) as lowest from (${part})`).bind(...bounds),
  ];
}

/** `{ seq }`: the first row that is not earlier than ?2 (UTC milliseconds), or the number after the last row. A binary search. */
export const FIRST_SEQ_SINCE = `with recursive search(low, high) as (
    select 1, (select coalesce(max(seq), 0) + 1 from audit_log where organization_id = ?1)
    union all
    select iif(a.at >= ?2, low, (low + high) / 2 + 1), iif(a.at >= ?2, (low + high) / 2, high)
    from search join audit_log a on a.organization_id = ?1 and a.seq = (low + high) / 2
    where low < high
  )
  select low as seq from search where low = high`;

/** The rows about a record or key: ?2 the id as given, ?3 and ?4 the ids that a note's and a time entry's Idempotency-Key would give. */
export const FIND_BY_RECORD = rowsOf(`select * from (
    select audit_seq from notes where organization_id = ?1 and id in (?2, ?3)
    union all
    select audit_seq from time_entries where organization_id = ?1 and id in (?2, ?4)
    union all
    select * from (select seq from audit_log indexed by audit_log_user_target where organization_id = ?1 and actor_type <> 'api_key' and target_id = ?2 order by seq desc limit 50))`);
