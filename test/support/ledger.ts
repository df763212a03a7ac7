// Compares the records, the audit log and the daily ledger of an organization with each other, and
// the records with what its clients were told.

/** Every record of the organization ?1, with the fields that all kinds share. */
const RECORDS = `
  select 'note.created' as action, id, ticket_id, created_at, key_id, request_id, audit_seq, message as text from notes where organization_id = ?1
  union all
  select 'time_entry.created', id, ticket_id, created_at, key_id, request_id, audit_seq, description from time_entries where organization_id = ?1`;

const NOT_REDACTED = "not exists (select 1 from audit_log where organization_id = ?1 and action glob '*.redacted')";

/**
 * Every record of the organization ?1 as the ledger counts it. A redacted text counts what it counted
 * before, which is no longer known: an organization with one is not compared.
 */
const COUNTED = `
  select r.key_id, length(cast(r.text as blob)) as bytes from (${RECORDS}) r
  where ${NOT_REDACTED}`;

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
];

/** Inconsistencies between the daily ledger, the records and the totals of the day. */
const LEDGER_INCONSISTENCIES = [
  `select 'the ledger of key ' || key_id || ' disagrees with its records: ' || group_concat(counts, ' and ') as found from (
     select key_id, count(*) || ' records, ' || sum(bytes) || ' bytes' as counts
     from (${COUNTED}) group by key_id
     union all
     select key_id, sum(notes + time_entries) || ' records, ' || sum(bytes) || ' bytes'
     from key_days where organization_id = ?1 and ${NOT_REDACTED} group by key_id)
   group by key_id having count(*) <> 2 or min(counts) <> max(counts)`,
  `select 'the ledger of key ' || key_id || ' on ' || day || ' disagrees with its time entries: ' || group_concat(counts, ' and ') as found from (
     select key_id, work_date as day, count(*) || ' entries, ' || sum(minutes) || ' minutes' as counts
     from time_entries where organization_id = ?1 group by key_id, work_date
     union all
     select key_id, day, time_entries || ' entries, ' || minutes || ' minutes' from key_days where organization_id = ?1 and time_entries > 0)
   group by key_id, day having count(*) <> 2 or min(counts) <> max(counts)`,
  `select 'the total of the day on audit row ' || a.seq || ' is ' || a.day_records || ' records and ' || a.day_bytes || ' bytes instead of '
     || sum(d.notes + d.time_entries) || ' and ' || sum(d.bytes) as found
   from audit_log a join key_days d on d.organization_id = ?1 and d.day = a.day
   where a.organization_id = ?1 and a.seq = (select max(seq) from audit_log where organization_id = ?1)
   group by a.seq having sum(d.notes + d.time_entries) <> a.day_records or sum(d.bytes) <> a.day_bytes`,
  `select 'key ' || k.key_id || ' is in the chain ' || k.chain_id || ' of the ledger' as found from key_days k
   join api_keys a on a.organization_id = k.organization_id and a.id = k.key_id where k.organization_id = ?1 and a.chain_id <> k.chain_id`,
];

/**
 * The inconsistencies of an organization, in words. Each record has exactly one audit row and the
 * other way round, the audit rows are numbered from 1 without a gap, no Idempotency-Key made two
 * records of a kind, no text was written twice, and the ledger agrees (see `ledgerInconsistencies`).
 * So every request that is meant to write must have a text of its own.
 */
export async function inconsistencies(db: D1Database, organization: string): Promise<string[]> {
  return find(db, organization, [...INCONSISTENCIES, ...LEDGER_INCONSISTENCIES]);
}

/**
 * Where the daily ledger of an organization disagrees with its records, in words, or the total of the
 * day on its latest audit row with the ledger.
 */
export async function ledgerInconsistencies(db: D1Database, organization: string): Promise<string[]> {
  return find(db, organization, LEDGER_INCONSISTENCIES);
}

async function find(db: D1Database, organization: string, statements: readonly string[]): Promise<string[]> {
  const found = await db.batch<{ found: string }>(
    statements.map((sql) => db.prepare(`${sql} limit 5`).bind(organization)),
  );
  return found.flatMap(({ results }) => results.map((one) => `${organization}: ${one.found}`));
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
