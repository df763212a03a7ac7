import { readFile } from 'node:fs/promises';
import { importDirectory } from '../../src/ops/import/import-directory.ts';
import { createApiKey } from '../../src/services/keys/create-key.ts';
import { administratorContext } from './administrator-context.ts';
import { importOrganizations, insertLarge } from './many-keys.ts';

const psa = { type: 'organization', psa: true, timeZone: 'UTC', defaultHourlyRate: 100 };
const bea = { type: 'user', id: 'bea', email: 'bea@both.example', admin: true };
const approving = { organization: 'approving' };
const RECORDS = [
  ...['northwind', 'fabrikam'].map((organization) => ({ ...bea, organization, name: `Bea of ${organization}` })),
  { ...psa, id: 'northtasks', name: 'North Tasks' },
  { ...bea, organization: 'northtasks', id: 'max', email: 'tina@tasks.example', name: 'Tina Tasks' },
  { type: 'user', ...approving, id: 'tess', email: 'tess@approving.example', name: 'Tess', technician: true },
  { type: 'company', ...approving, id: 'acme', name: 'Acme' },
  { type: 'ticket', ...approving, id: '1001', company: 'acme' },
];

/**
 * Inserts what the tests that share a server need in its database, and returns the values of two keys. They do not
 * insert it themselves: while another program writes to the database, the server refuses requests, also those of
 * other tests.
 */
export async function insertServerData(db: D1Database): Promise<{ approving: string; expired: string }> {
  await insertLarge(db);
  await importOrganizations(db, [{ id: 'approving', name: 'Approving MSP' }], 'max@approving.example');
  const demo = await readFile('src/dev/demo-directory.ndjson', 'utf8');
  const imported = await importDirectory(db, demo + RECORDS.map((record) => JSON.stringify(record)).join('\n'));
  if (!imported.ok) throw new Error(JSON.stringify(imported.errors));

  const make = async (organizationId: string, name: string, more: object, now = Date.now()) => {
    const ctx = administratorContext(db, organizationId, 'max', () => now);
    return (await createApiKey(ctx, 'twb', { name, scopes: ['tickets:note:write'], ...more })).value;
  };
  for (const number of [1, 2, 3, 4, 5])
    await make('northtasks', `Workflow ${number}`, { owner: 'Tess Technician', allowedNetworks: '198.51.100.23' });
  for (const number of [6, 7, 8]) await make('northtasks', `Workflow ${number}`, { owner: 'NOC' });
  const ended = { owner: 'NOC', expires: '2026-04-01' };
  return {
    expired: await make('northtasks', 'Nightly', ended, Date.parse('2026-01-01')),
    approving: await make('approving', 'Acronis', { scopes: ['tickets:time:write'] }),
  };
}
