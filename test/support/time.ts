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
