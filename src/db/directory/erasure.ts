// Statements of an erasure, to be sent as one transaction in the order of `ERASURE`. Each takes the organization's id (?1) and the request's
// (?2), and does nothing unless the first of them opened the erasure: the organization is there and its audit log ends where the
// caller has read to. The audit log's triggers allow its rows to go only while the erasure is open.

/** Opens the erasure: ?3 is the time, ?4 who asked for it, ?5 the last `seq` that was read and ?6 the request id of that row, or null. */
export const OPEN_ERASURE = `insert into erasures (organization_id, request_id, erased_at, erased_by, last_seq, open)
  select ?1, ?2, ?3, ?4, ?5, 1 from organizations where id = ?1
    and (select coalesce(max(seq), 0) from audit_log where organization_id = ?1) = ?5
    and (select request_id from audit_log where organization_id = ?1 and seq = ?5) is ?6`;

/** Referring tables before those they refer to; in each, the organization's rows are one stretch of the primary key. */
const TABLES = ['notes', 'time_entries', 'audit_log', 'refused_uses', 'api_keys', 'agreements', 'tickets', 'companies', 'users'] as const;
const isOpen = 'exists (select 1 from erasures where organization_id = ?1 and request_id = ?2 and open = 1)';

export const ERASURE = [
  ...TABLES.map((table) => `delete from ${table} where organization_id = ?1 and ${isOpen}`),
  `delete from organizations where id = ?1 and ${isOpen}`,
  'update erasures set open = 0 where organization_id = ?1 and request_id = ?2 and open = 1',
];

/** The erasure of this request, if it was made. */
export const FIND_ERASURE = 'select last_seq as lastSeq from erasures where organization_id = ?1 and request_id = ?2';
