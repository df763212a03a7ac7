import { readFile } from 'node:fs/promises';
import { generateKey, hashKey, keyHint } from '../../src/domain/api-key.ts';
import { timeOrderedId } from '../../src/domain/record-id.ts';
import { formatScopes, SCOPE_IDS } from '../../src/domain/scopes.ts';
import { importDirectory } from '../../src/ops/import/import-directory.ts';
import { migrate } from '../../src/ops/migrations.ts';
import { KEY_PREFIX } from './workers.ts';

const DEMO_DIRECTORY = 'src/dev/demo-directory.ndjson';
/** Rows that one statement inserts: well under the 30 s that D1 allows it. */
const ROWS_PER_STATEMENT = 100_000;

/** The organization of the demo directory that everything here is written to. */
const ORGANIZATION = 'northwind';
export const TICKET = '1001';

/** Applies the repository's migrations and imports the demo directory. */
export async function prepare(db: D1Database): Promise<void> {
  await migrate(db);
  const imported = await importDirectory(db, await readFile(DEMO_DIRECTORY, 'utf8'));
  if (!imported.ok) throw new Error(JSON.stringify(imported.errors));
}

export interface BenchKey {
  id: string;
  value: string;
}

/** What becomes of keys; `live` ones hold both scopes. */
type Standing = 'live' | 'revoked' | 'expired' | 'wrong_scope';

/**
 * Makes keys, all in one statement: one by one, as an administrator makes them, thousands would
 * take minutes through Miniflare's proxy.
 */
export async function makeKeys(db: D1Database, count: number, standing: Standing = 'live'): Promise<BenchKey[]> {
  const keys = Array.from({ length: count }, () => ({ id: timeOrderedId(Date.now()), value: generateKey(KEY_PREFIX) }));
  const rows = await Promise.all(
    keys.map(async ({ id, value }) => ({ id, hash: await hashKey(value), hint: keyHint(value) })),
  );
  const scopes = formatScopes(standing === 'wrong_scope' ? ['tickets:note:write'] : SCOPE_IDS);
  await db
    .prepare(
      `insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by, expires_at, revoked_at, revoked_by)
       select ?1, value ->> 'id', value ->> 'id', 'Benchmark ' || (value ->> 'id'), value ->> 'hash', value ->> 'hint', ?3, 0, 'ada', iif(?4 = 'expired', 1, null),
         iif(?4 = 'revoked', 1, null), iif(?4 = 'revoked', 'ada', null) from json_each(?2)`,
    )
    .bind(ORGANIZATION, JSON.stringify(rows), scopes, standing)
    .run();
  return keys;
}

/**
 * Adds keys that nobody uses, and time entries of theirs, each with its audit row: all in one
 * organization, the worst case.
 */
export async function grow(db: D1Database, { keys, entries }: { keys: number; entries: number }): Promise<void> {
  // D1 binds every number as a float: what is to come out as an integer is cast.
  const upTo = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < ?2)';
  await db
    .prepare(
      `insert into api_keys (organization_id, id, chain_id, name, hash, hint, scopes, created_at, created_by)
       ${upTo} select ?1, 'k' || i, 'k' || i, 'Unused ' || i, lower(hex(randomblob(32))), 'twb_0000…0000', 'tickets:time:write', 0, 'ada' from n`,
    )
    .bind(ORGANIZATION, keys)
    .run();
  for (let done = 0; done < entries; done += ROWS_PER_STATEMENT) {
    const rows = Math.min(ROWS_PER_STATEMENT, entries - done);
    await db.batch([
      db
        .prepare(
          `insert into audit_log (organization_id, seq, at, actor_type, actor_id, actor_name, action, target_id, ticket_id, request_id)
           ${upTo} select ?1, i + (select coalesce(max(seq), 0) from audit_log where organization_id = ?1), 0, 'api_key', 'k' || (1 + i % cast(?3 as integer)), 'Unused',
             'time_entry.created', lower(hex(randomblob(18))), '${TICKET}', lower(hex(randomblob(18))) from n order by i`,
        )
        .bind(ORGANIZATION, rows, keys),
      db
        .prepare(
          `insert into time_entries (organization_id, id, ticket_id, created_at, key_id, request_id, request_digest, audit_seq, user_id, minutes,
             description, billable, work_date, hourly_rate_minor, agreement_source, status)
           ${upTo} select ?1, lower(hex(randomblob(18))), '${TICKET}', 0, 'k' || (1 + i % cast(?3 as integer)), lower(hex(randomblob(18))),
             lower(hex(randomblob(32))), i, 'automation', 30, 'Cleared the print queue', 1, '2026-01-01', 15000, 'company_default', 'SUBMITTED' from n`,
        )
        .bind(ORGANIZATION, rows, keys),
    ]);
  }
  await db
    .prepare(
      `insert into key_days ${upTo} select ?1, 'k' || i, '2026-01-01', 'k' || i, 0, 100, 3000, 2300, i, i + 100, 0, null from n`,
    )
    .bind(ORGANIZATION, keys)
    .run();
}
