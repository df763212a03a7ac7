import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { operatorContext } from '../../../src/cli/command.ts';
import { withLocalD1 } from '../../../src/cli/local.ts';
import { hashKey } from '../../../src/domain/api-key.ts';
import type { CreatedKey } from '../../../src/services/keys/create-key.ts';
import { findKey } from '../../../src/services/keys/find-key.ts';
import { revokeAsOperator } from '../../../src/services/keys/revoke-key.ts';
import { listChanges } from '../../../src/services/work/list-changes.ts';
import { serveRemoteD1 } from '../../support/remote-d1-stub.ts';
import { demoDatabase, makeKey } from './database.ts';

const ORGANIZATION = 'northwind';

/** The two shell loops that the README says to run before and after a restore. */
const blocks = (await readFile('README.md', 'utf8')).matchAll(/```sh\n(for organization in [\s\S]*?)```/g);
const [BEFORE_RESTORE = '', AFTER_RESTORE = ''] = Array.from(blocks, ([, block = '']) => block);

/** Runs one of the loops against a database in place of the deployed one. Its files are in a directory. */
async function follow(block: string, db: D1Database, directory: string): Promise<void> {
  const remote = await serveRemoteD1(db);
  const script = block.replaceAll('before-', join(directory, 'before-'));
  try {
    await promisify(execFile)('bash', ['-c', script], { env: { ...process.env, ...remote.env } });
  } finally {
    await remote.close();
  }
}

test('after a restore the README’s loops revoke again the keys that the restore made usable, and no others', async () => {
  const { persistTo, remove } = await demoDatabase();
  const backup = `${persistTo}-backup`;
  const files = await mkdtemp(join(tmpdir(), 'twb-restore-'));
  try {
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
      await follow(BEFORE_RESTORE, db, files);
      const { cursor } = await listChanges(ctx, { organization: ORGANIZATION, cursor: null, limit: 100 });
      return { late, cursor };
    });
    await rm(persistTo, { recursive: true });
    await cp(backup, persistTo, { recursive: true });

    await withLocalD1(persistTo, async (db) => {
      const find = async ({ value }: CreatedKey) => findKey(operatorContext(db), await hashKey(value));
      expect(await find(leaked)).toMatchObject({ revokedAt: null });
      await follow(AFTER_RESTORE, db, files);
      expect(await find(leaked)).toMatchObject({ revokedAt: expect.any(Number) });
      expect(await find(live)).toMatchObject({ revokedAt: null });
      expect(await find(late)).toBeUndefined();
      // The cursor points to a change that the restore removed.
      const next = listChanges(operatorContext(db), { organization: ORGANIZATION, cursor, limit: 100 });
      await expect(next).rejects.toMatchObject({ code: 'cursor_reset' });
    });
  } finally {
    await remove();
    await rm(backup, { recursive: true, force: true });
    await rm(files, { recursive: true });
  }
});
