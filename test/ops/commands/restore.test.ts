import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { hashKey } from '../../../src/domain/api-key.ts';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { operatorContext } from '../../../src/ops/open-database.ts';
import type { CreatedKey } from '../../../src/services/keys/create-key.ts';
import { findKey } from '../../../src/services/keys/find-key.ts';
import { revokeAsOperator } from '../../../src/services/keys/revoke-key.ts';
import { listChanges } from '../../../src/services/work/list-changes.ts';
import { serveRemoteD1 } from '../../support/remote-d1-stub.ts';
import { demoDatabase, makeKey } from './database.ts';

const ORGANIZATION = 'northwind';

const EXPORT = 'npm run -s ops -- changes:export northwind --remote > before-northwind.ndjson';
const REPEAT =
  'npm run -s ops -- changes:repeat northwind before-northwind.ndjson --remote --by "Ada, after the restore"';

/** Runs a command line with its files in the directory, and with a database in place of the deployed one. */
async function follow(line: string, db: D1Database, directory: string): Promise<{ stdout: string; stderr: string }> {
  const remote = await serveRemoteD1(db);
  const script = line.replaceAll('before-', join(directory, 'before-'));
  try {
    return await promisify(execFile)('bash', ['-c', script], { env: { ...process.env, ...remote.env } });
  } finally {
    await remote.close();
  }
}

test('after a restore, an earlier export revokes the keys that the restore made usable again, and no others', async () => {
  const { persistTo, remove } = await demoDatabase();
  onTestFinished(remove);
  const files = await mkdtemp(join(tmpdir(), 'twb-restore-'));
  onTestFinished(() => rm(files, { recursive: true }));
  const backup = join(files, 'backup');
  const { leaked, live } = await withLocalD1(persistTo, async (db) => ({
    leaked: await makeKey(db, 'Leaked'),
    live: await makeKey(db, 'Live'),
  }));
  await cp(persistTo, backup, { recursive: true });

  const { late, cursor } = await withLocalD1(persistTo, async (db) => {
    const ctx = operatorContext(db);
    const late = await makeKey(db, 'Created after the backup');
    for (const { id } of [leaked, late])
      await revokeAsOperator(ctx, { organization: ORGANIZATION, key: id, by: 'Ada' });
    await follow(EXPORT, db, files);
    const { cursor } = await listChanges(ctx, { organization: ORGANIZATION, cursor: null, limit: 100 });
    return { late, cursor };
  });
  await rm(persistTo, { recursive: true });
  await cp(backup, persistTo, { recursive: true });

  await withLocalD1(persistTo, async (db) => {
    const find = async ({ value }: CreatedKey) => findKey(operatorContext(db), await hashKey(value));
    expect(await find(leaked)).toMatchObject({ revokedAt: null });
    const { stdout, stderr } = await follow(REPEAT, db, files);
    expect([stdout.split('\n'), stderr]).toEqual([
      [
        `not repeated: api_key.created ${late.id}, by ada`,
        `repeated: api_key.revoked ${leaked.id}, by operator`,
        `not in the database: api_key.revoked ${late.id}, by operator`,
        '',
      ],
      '3 changes undone, of 5 in the file.\n',
    ]);
    const other = follow(REPEAT.replace('northwind', 'contos'), db, files);
    await expect(other).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('contos') });
    expect(await find(leaked)).toMatchObject({ revokedAt: expect.any(Number) });
    expect(await find(live)).toMatchObject({ revokedAt: null });
    expect(await find(late)).toBeUndefined();
    // The cursor points to a change that the restore removed.
    const next = listChanges(operatorContext(db), { organization: ORGANIZATION, cursor, limit: 100 });
    await expect(next).rejects.toMatchObject({ code: 'cursor_reset' });
  });
});
