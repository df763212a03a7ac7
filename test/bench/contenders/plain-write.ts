interface PlainEntry {
  organizationId: string;
  keyId: string;
  keyName: string;
  ticketId: string;
  minutes: number;
  description: string;
  billable: boolean;
}

const NEXT_SEQ = '(select coalesce(max(seq), 0) + 1 from audit_log where organization_id = ?1)';

const INSERT_ENTRY = `insert into time_entries (organization_id, id, ticket_id, created_at, key_id, request_id, request_digest, audit_seq,
    user_id, minutes, description, billable, work_date, hourly_rate_minor, agreement_source, approvals, status)
  values (?1, ?2, ?3, ?4, ?5, ?6, '', ${NEXT_SEQ}, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 'settings', 'SUBMITTED')`;

const INSERT_AUDIT = `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, ticket_id, request_id)
  values (?1, ${NEXT_SEQ}, ?2, 'api_key', ?3, ?4, 'time_entry.created', ?5, ?6, ?7)`;

/** The two inserts, bound, with a user and a rate that nothing looks up. */
export function plainInserts(
  db: D1Database,
  entry: PlainEntry,
): { id: string; insertEntry: D1PreparedStatement; insertAudit: D1PreparedStatement } {
  const { organizationId, keyId, keyName, ticketId, minutes, description, billable } = entry;
  const id = crypto.randomUUID();
  const requestId = crypto.randomUUID();
  const now = Date.now();
  const workDate = new Date(now).toISOString().slice(0, 10);
  return {
    id,
    insertEntry: db
      .prepare(INSERT_ENTRY)
      .bind(
        organizationId,
        id,
        ticketId,
        now,
        keyId,
        requestId,
        'automation',
        minutes,
        description,
        Number(billable),
        workDate,
        15_000,
        'company_default',
      ),
    insertAudit: db.prepare(INSERT_AUDIT).bind(organizationId, now, keyId, keyName, id, ticketId, requestId),
  };
}

/** The body and ticket of a request, hardly checked. */
export async function plainInput(
  request: Request,
): Promise<Pick<PlainEntry, 'ticketId' | 'minutes' | 'description' | 'billable'> | undefined> {
  const { minutes, description, billable } = await request.json<Record<string, unknown>>();
  const ticketId = new URL(request.url).pathname.split('/')[4];
  if (
    ticketId === undefined ||
    typeof minutes !== 'number' ||
    typeof description !== 'string' ||
    typeof billable !== 'boolean'
  )
    return undefined;
  return { ticketId, minutes, description, billable };
}
