import { env } from 'cloudflare:workers';

/** Adds so many changes to an organization's feed: copies of its last audit row, each `everyMs` later than the one before. */
export async function addChanges(organization: string, count: number, everyMs = 0): Promise<void> {
  await env.DB.prepare(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)
     insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, request_id)
     select a.organization_id, a.seq + i, a.at + ?3 * i, a.actor_type, a.actor_id, a.actor_name, a.action, a.target_id, 'r' || i
     from n, (select * from audit_log where organization_id = ?1 order by seq desc limit 1) a order by i`,
  )
    .bind(organization, count, everyMs)
    .run();
}
