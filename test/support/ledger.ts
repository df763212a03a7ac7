// Compares the records and the audit log of an organization with each other, and with what its
// clients were told.

/** Every record of the organization ?1, with the fields that all kinds share. */
const RECORDS = `
  select 'note.created' as action, id, ticket_id, created_at, key_id, request_id, audit_seq, message as text from notes where organization_id = ?1
  union all
  select 'time_entry.created', id, ticket_id, created_at, key_id, request_id, audit_seq, description from time_entries where organization_id = ?1`;

/** Each statement finds one kind of inconsistency, and describes at most a few cases of it. */
const INCONSISTENCIES = [
  `select 'record ' || r.id || ' has no audit row of its own' as found from (${RECORDS}) r
   left join audit_log a on a.organization_id = ?1 and a.seq = r.audit_seq and a.target_id = r.id and a.action = r.action
     and a.actor_type = 'api_key' and a.actor_id = r.key_id and a.ticket_id = r.ticket_id and a.request_id = r.request_id and a.at = r.created_at
   where a.seq is null`,
  `select 'audit row ' || a.seq || ' has no record of its own' as found from audit_log a
   left join notes n on a.action = 'note.created' and n.organization_id = ?1 and n.id = a.target_id and n.audit_seq = a.seq
   left join time_entries t on a.action = 'time_entry.created' and t.organization_id = ?1 and t.id = a.target_id and t.audit_seq = a.seq
   where a.organization_id = ?1 and a.action in ('note.created', 'time_entry.created') and n.id is null and t.id is null`,
  `select 'the audit log has ' || count(*) || ' rows, numbered from ' || min(seq) || ' to ' || max(seq) as found from audit_log
   where organization_id = ?1 having count(*) > 0 and (min(seq) <> 1 or max(seq) <> count(*))`,
  `select 'Idempotency-Key ' || idempotency_key || ' made ' || count(*) || ' records' as found from audit_log
   where organization_id = ?1 and idempotency_key is not null group by action, idempotency_key having count(*) > 1`,
  `select 'the text "' || text || '" was written ' || count(*) || ' times' as found from (${RECORDS}) group by text having count(*) > 1`,
].map((sql) => `${sql} limit 5`);

/**
 * The inconsistencies of an organization, in words. Each record has exactly one audit row and the
 * other way round, the audit rows are numbered from 1 without a gap, no Idempotency-Key made two
 * records of a kind, and no text was written twice. So every request that is meant to write must
 * have a text of its own.
 */
export async function inconsistencies(db: D1Database, organization: string): Promise<string[]> {
  const answers = await db.batch<{ found: string }>(INCONSISTENCIES.map((sql) => db.prepare(sql).bind(organization)));
  return answers.flatMap(({ results }) => results.map(({ found }) => `${organization}: ${found}`));
}

const PAGE_SIZE = 5_000;

/**
 * Compares the acknowledged records (id → text) with those in the database: the ids that are
 * missing, or have another text, and the texts of records that were not acknowledged.
 */
export async function compareWithAcknowledged(
  db: D1Database,
  organization: string,
  acknowledged: ReadonlyMap<string, string>,
): Promise<{ missing: string[]; unacknowledged: string[] }> {
  const missing = new Set(acknowledged.keys());
  const unacknowledged: string[] = [];
  const page = db.prepare(`select id, text from (${RECORDS}) where id > ?2 order by id limit ${PAGE_SIZE}`);
  for (let after = '', more = true; more; ) {
    const { results } = await page.bind(organization, after).all<{ id: string; text: string }>();
    for (const { id, text } of results) {
      if (acknowledged.get(id) === text) missing.delete(id);
      else unacknowledged.push(text);
    }
    after = results.at(-1)?.id ?? after;
    more = results.length === PAGE_SIZE;
  }
  return { missing: [...missing], unacknowledged };
}
