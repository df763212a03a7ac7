import { env } from 'cloudflare:workers';

/**
 * Copies an organization with this key to one after all others in the order of the tables, unless
 * there is one. SQLite reads one row after a range, if there is one, so the counts of rows would
 * depend on the last organization.
 */
export async function makeLastOrganization(like: string, keyId: string): Promise<void> {
  if (await env.DB.prepare("select id from organizations where id = 'zzz'").first()) return;
  const copy = (table: string, columns: string, where: string, ...values: string[]) => {
    const copied = columns.replace(/\w+/, "'zzz'").replace(' hash', ` '${'0'.repeat(64)}'`);
    const sql = `insert into ${table} (${columns}) select ${copied} from ${table} where ${where}`;
    return env.DB.prepare(sql).bind(like, ...values);
  };
  await env.DB.batch([
    copy('organizations', 'id, name, has_psa, time_zone, default_hourly_rate_minor, active, approvals', 'id = ?1'),
    copy(
      'users',
      'organization_id, id, email, name, is_admin, is_technician, is_service, active',
      "organization_id = ?1 and id = 'ada'",
    ),
    copy(
      'api_keys',
      'organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by',
      'organization_id = ?1 and id = ?2',
      keyId,
    ),
    copy(
      'key_days',
      'organization_id, chain_id, day, key_id, notes, time_entries, minutes, bytes, last_at, last_address',
      'organization_id = ?1 and key_id = ?2',
      keyId,
    ),
  ]);
}
