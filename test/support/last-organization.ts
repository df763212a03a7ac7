import { env } from 'cloudflare:workers';

/**
 * Copies an organization with this key to one after all others in the order of the tables, unless
 * there is one. SQLite reads one row after a range, if there is one, so the counts of rows would
 * depend on the last organization. One before all others has a refused request, because the latest ones are read backwards.
 */
export async function makeLastOrganization(like: string, keyId: string): Promise<void> {
  if (await env.DB.prepare("select id from organizations where id = 'zzz'").first()) return;
  const copyAs =
    (id: string, hash: string) =>
    (table: string, columns: string, where: string, ...values: string[]) => {
      const copied = columns.replace(/\w+/, `'${id}'`).replace(' hash', ` '${hash}'`);
      const sql = `insert into ${table} (${columns}) select ${copied} from ${table} where ${where}`;
      return env.DB.prepare(sql).bind(like, ...values);
    };
  const withKey = (copy: ReturnType<typeof copyAs>) => [
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
  ];
  const last = copyAs('zzz', '0'.repeat(64));
  await env.DB.batch([
    ...withKey(last),
    last(
      'key_days',
      'organization_id, chain_id, day, key_id, notes, time_entries, minutes, bytes, last_at, last_address',
      'organization_id = ?1 and key_id = ?2',
      keyId,
    ),
    ...withKey(copyAs('000', '1'.repeat(64))),
    env.DB.prepare(
      "insert into refused_requests values ('000', 'r', ?, 0, 404, 'not_found', null, null, null, null, null, null)",
    ).bind(keyId),
  ]);
}
