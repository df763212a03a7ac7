import { env } from 'cloudflare:workers';
import { makeSettings } from './settings.ts';
import { importRecords, makeKey, TIME } from './world.ts';

/** Adds an administrator, or replaces one. */
export function importAdmin(organization: string, id: string, name: string, technician = false): Promise<void> {
  const email = `${id}@${organization}.example`;
  return importRecords({ type: 'user', organization, id, email, name, admin: true, technician });
}

/** Sets who approves time: `psa`, or `settings` for administrators too. */
export function setApprovals(organization: string, approvals: string): Promise<void> {
  const settings = { psa: true, timeZone: 'UTC', defaultHourlyRate: 120, approvals };
  return importRecords({ type: 'organization', id: organization, name: 'MSP', ...settings });
}

/** The settings area of an organization with a key. `log` logs time and returns the entry's id. */
export async function makeTime(options: Parameters<typeof makeSettings>[0] = {}) {
  const settings = await makeSettings(options);
  const key = await makeKey(settings.organization, {}, options.now);
  let count = 0;
  const log = async (changes: object = {}, ticket = '1001'): Promise<string> => {
    const body = { ...TIME, description: `Task ${++count}`, ...changes };
    const response = await settings.api.postTime(key.value, body, {}, ticket);
    return (await response.json<{ entry: { id: string } }>()).entry.id;
  };
  const decide = (decision: 'APPROVED' | 'REJECTED', entry: string | string[], reason = 'Not ours') =>
    settings.post('/time/decide', { decision, entry, reason });
  return { ...settings, key, log, decide };
}

/** Adds copies of the organization's only time entry, each with its audit row. */
export async function multiply(organization: string, count: number): Promise<void> {
  const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)';
  const id = "printf('00000000-0000-7000-8000-%012d', i)";
  await env.DB.batch([
    env.DB.prepare(
      `${numbers} insert into audit_log select organization_id, seq + i, at, actor_type, actor_id, actor_name, action, ${id}, ticket_id,
         request_id, null, null, null, null, day, day_records, day_bytes
       from n, audit_log where organization_id = ?1 and action = 'time_entry.created' order by i`,
    ).bind(organization, count),
    env.DB.prepare(
      `${numbers} insert into time_entries select organization_id, ${id}, ticket_id, created_at, key_id, request_id, request_digest, audit_seq + i,
         user_id, minutes, description || i, billable, work_date, hourly_rate_minor, agreement_source, approvals, status, null
       from n, time_entries where organization_id = ?1`,
    ).bind(organization, count),
  ]);
}
