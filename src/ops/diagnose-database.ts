import { findReturned } from '../db/directory/erasure.ts';
import { organizationRange } from '../db/fact-statements.ts';
import { findConnections } from '../db/work/connections.ts';
import { query } from '../services/call-d1.ts';
import type { Database } from './command.ts';
import { CONNECTED, connectionState } from './connection-state.ts';
import { count, percent } from './output.ts';
import { check, Failure, type Finding } from './probe.ts';

export interface ExpectedDatabase extends Pick<Database, 'db' | 'context'> {
  /** The size in bytes at which it is full. */
  limit: number;
  migrations: readonly string[];
}

/** From this share of its limit on, the database is nearly full. */
const MAX_DATABASE_SHARE = 0.9;

export async function* diagnoseDatabase({ db, context, limit, migrations }: ExpectedDatabase): AsyncGenerator<Finding> {
  const schema = await check('schema', async () => {
    const { results } = await db.prepare('select name from d1_migrations').all<{ name: string }>();
    const applied = new Set(results.map(({ name }) => name));
    const missing = migrations.filter((name) => !applied.has(name));
    if (missing.length === 0) return `has all ${migrations.length} migrations`;
    throw new Failure(`the database lacks ${missing.join(', ')}. Migrate it: npm run deploy -- --migrate`);
  });
  yield schema;
  if (!schema.ok) return;
  yield await check('size', async () => {
    const { meta } = await db.prepare('select 1').all();
    const share = meta.size_after / limit;
    if (share < MAX_DATABASE_SHARE) return `${percent(share)} of the limit`;
    throw new Failure(
      `the database is nearly full: ${percent(share)} of DATABASE_LIMIT. See the runbook, "D1 is full".`,
    );
  });
  yield await check('erased organizations', () => returned(context));
  yield await check('adapters', () => connected(context));
}

/** The erased organizations that exist. If no return is recorded, SQL has inserted the organization. */
async function returned(context: Database['context']): Promise<string> {
  const present = await query(context(), 'nothing_written', findReturned);
  const forged = present.flatMap(({ id, by }) => (by === null ? id : []));
  if (forged.length > 0)
    throw new Failure(
      `${forged.join(', ')}: erased, and created again without a recorded return. A holder of the database's credentials did this, and may have forged the audit log. Revoke these credentials, and compare the organization with its export.`,
    );
  if (present.length === 0) return 'none exists';
  return `created again on request: ${present.map(({ id, by }) => `${id} by ${by}`).join(', ')}`;
}

async function connected(context: Database['context']): Promise<string> {
  const connections = await query(context(), 'nothing_written', (db) => findConnections(db, organizationRange()));
  const states = connections.map((one) => [one.organizationId, connectionState(one, Date.now())]);
  const faults = states.filter(([, state]) => state !== CONNECTED);
  if (faults.length > 0) throw new Failure(`${faults.map((one) => one.join(' is ')).join(', ')}. See adapter:status.`);
  return states.length === 0 ? 'none has reported' : `${count(states.length, 'adapter')} connected`;
}
