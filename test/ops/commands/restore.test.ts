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
import { runCli } from '../../support/run-cli.ts';
import { demoDatabase, makeKey } from './database.ts';

const ORGANIZATION = 'northwind';

const EXPORT = 'npm run -s ops -- changes:export northwind --remote > before-northwind.ndjson';
const REVOKE =
  'npm run -s ops -- key:revoke --organization northwind --from before-northwind.ndjson --remote --by "Ada, after the restore"';

/**
 * Runs a command line with its files in the directory, and with a database in place of the deployed
 * one.
 */
async function follow(line: string, db: D1Database, directory: string): Promise<{ stdout: string; stderr: string }> {
  const remote = await serveRemoteD1(db);
  const script = line.replaceAll('before-', join(directory, 'before-'));
  try {
    return await promisify(execFile)('bash', ['-c', script], { env: { ...process.env, ...remote.env } });
  } finally {
    await remote.close();
  }
}

/** The ids of the keys that a command printed, each with the word that its line begins with. */
const keysIn = (stdout: string) =>
  Array.from(stdout.matchAll(/^([A-Z][\w ]*): .*\bkey ([\w-]+)/gm), ([, word, id]) => [id, word]);

test('after a restore, an earlier export revokes the keys that the restore made usable again, and no others', async () => {
  const { persistTo, remove } = await demoDatabase();
  const backup = `${persistTo}-backup`;
  const files = await mkdtemp(join(tmpdir(), 'twb-restore-'));
  try {
    const { leaked, live, old } = await withLocalD1(persistTo, async (db) => {
      const keys = {
        leaked: await makeKey(db, 'Leaked'),
        live: await makeKey(db, 'Live'),
        old: await makeKey(db, 'Revoked before the backup'),
      };
      await revokeAsOperator(operatorContext(db), { organization: ORGANIZATION, key: keys.old.id, by: 'Ada' });
      return keys;
    });
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
      const remote = await serveRemoteD1(db);
      onTestFinished(remote.close);
      const from = join(files, 'before-northwind.ndjson');
      expect(await find(leaked)).toMatchObject({ revokedAt: null });
      const args = ['--organization', 'contos', '--from', from, '--by', 'Ada', '--remote'];
      expect(await runCli('key:revoke', args, remote)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('contos'),
      });
      const undone = await runCli('changes:undone', ['northwind', from, '--remote'], remote);
      expect([undone.code, undone.stdout.replaceAll(from, 'FILE'), undone.stderr]).toEqual([
        0,
        `2 changes: npm run ops -- key:revoke --organization northwind --from FILE --by NAME\napi_key.created ${late.id}, by ada\n`,
        '3 changes undone, of 7 in the file.\n',
      ]);
      const { stdout, stderr } = await follow(REVOKE, db, files);
      expect([keysIn(stdout), stderr]).toEqual([
        [
          [leaked.id, 'Revoked'],
          [old.id, 'Already revoked'],
          [late.id, 'Missing'],
        ],
        '',
      ]);
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
