import { env } from 'cloudflare:workers';

/**
 * Copies an organization with this key to one after all others in the order of the tables, unless
 * there is one. SQLite reads one row after a range, if there is one, so the counts of rows would
 * depend on the last organization.
 */
export async function makeLastOrganization(like: string, keyId: string): Promise<void> {
  if (await env.DB.prepare("select id from organizations where id = 'zzz'").first()) return;
  const copy = (table: string, columns: string, where: string, ...values: string[]) =>
    env.DB.prepare(`insert into ${table} select ${columns} from ${table} where ${where}`).bind(like, ...values);
  await env.DB.batch([
    copy('organizations', "'zzz', name, has_psa, time_zone, default_hourly_rate_minor, active, approvals", 'id = ?1'),
    copy(
      'users',
      "'zzz', id, email, name, is_admin, is_technician, is_service, active",
      "organization_id = ?1 and id = 'ada'",
    ),
    copy(
      'api_keys',
      `'zzz', id, chain_id, name, '${'0'.repeat(64)}', hint, scopes, day_limit_records, day_limit_minutes, allowed_networks,
       description, owner, revision, created_at, created_by, expires_at, revoked_at, revoked_by, successor_id, form_token, companies`,
      'organization_id = ?1 and id = ?2',
      keyId,
    ),
    copy(
      'key_days',
      "'zzz', chain_id, day, key_id, notes, time_entries, minutes, bytes, first_seq, last_seq, last_at, last_address",
      'organization_id = ?1 and key_id = ?2',
      keyId,
    ),
  ]);
}
