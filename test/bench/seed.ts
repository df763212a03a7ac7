import { readFile } from 'node:fs/promises';
import { generateKey, hashKey, keyHint } from '../../src/domain/api-key.ts';
import { timeOrderedId } from '../../src/domain/record-id.ts';
import { formatScopes, SCOPE_IDS } from '../../src/domain/record-kinds.ts';
import { importDirectory } from '../../src/ops/import/import-directory.ts';
import { migrate } from '../../src/ops/migrations.ts';
import { KEY_PREFIX } from './limits.ts';

const DEMO_DIRECTORY = 'src/dev/demo-directory.ndjson';

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
