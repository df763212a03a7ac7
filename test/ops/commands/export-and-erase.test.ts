import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { spawnCli } from '../../support/command.ts';
import { aroundD1 } from '../../support/d1.ts';
import { serveRemoteD1 } from '../../support/remote-d1-stub.ts';
import { runCli } from '../../support/run-cli.ts';
import { DEMO, databaseOfTest, makeKey, writeNotes } from './database.ts';

interface ExportedChange {
  cursor: string;
  action: string;
}

const changesIn = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line): ExportedChange => JSON.parse(line));

/** The rows that fabrikam has by table, in the order in which they are removed. */
const ROWS = {
  notes: 2,
  key_days: 1,
  api_keys: 1,
  tickets: 2,
  companies: 1,
  users: 2,
  audit_log: 4,
  organizations: 1,
};
const countsIn = (stdout: string) =>
  Object.fromEntries(Array.from(stdout.matchAll(/^ +(\d+) +(\w+)$/gm), ([, count, table]) => [table, Number(count)]));

let files: string;
beforeAll(async () => {
  files = await mkdtemp(join(tmpdir(), 'twb-export-'));
});
afterAll(() => rm(files, { recursive: true }));

test('changes are exported from any cursor on, a record is redacted, and an organization is erased with its last export', async () => {
  const { db, env } = await databaseOfTest();
  const run = (command: string, ...args: string[]) => runCli(command, [...args, '--remote'], { env });
  const [secret = ''] = await writeNotes(db, ['the password is hunter2', 'harmless']);
  const exported = changesIn((await run('changes:export', 'fabrikam')).stdout);
  expect(exported.map(({ action }) => action)).toEqual(['api_key.created', 'note.created', 'note.created']);

  const redacted = await run('record:redact', 'fabrikam', 'note', secret, '--by', 'Ada');
  expect(redacted).toMatchObject({ code: 0, stdout: expect.stringContaining(secret) });
  const later = await run('changes:export', 'fabrikam', '--cursor', exported[2]?.cursor ?? '');
  expect(changesIn(later.stdout).map(({ action }) => action)).toEqual(['note.redacted']);

  const file = join(files, 'fabrikam.ndjson');
  const erase = (...args: string[]) => run('organization:erase', 'fabrikam', ...args);
  for (const confirm of [[], ['--confirm', 'northwind']]) {
    const refused = await erase('--export', file, '--by', 'Ada', ...confirm);
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('--confirm fabrikam') });
    expect(existsSync(file)).toBe(false);
  }
  const erased = await erase('--export', file, '--by', 'Ada', '--confirm', 'fabrikam');
  expect([erased.code, erased.stderr, countsIn(erased.stdout)]).toEqual([0, '', ROWS]);
  const kept = await readFile(file, 'utf8');
  expect(changesIn(kept)).toHaveLength(4);
  expect(kept).not.toContain('hunter2');
  expect((await run('changes:export', 'fabrikam')).code).toBe(1);

  const [refused, recreated] = [await run('directory:import', DEMO), await run('directory:import', DEMO, '--recreate')];
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('fabrikam was erased') });
  expect([recreated.code, recreated.stderr]).toEqual([0, '']);
  expect(await db.prepare('select recreated_by from erasures').first('recreated_by')).toBe('operator');
});

test('an erasure that loses its connection or is interrupted continues when it is called again', async () => {
  const { db } = await databaseOfTest();
  await writeNotes(db, ['one', 'two']);
  const isReached = Promise.withResolvers<void>();
  let run = 0;
  const wasActive: unknown[] = [];
  // The first run loses the connection before it removes tickets, the second one is interrupted there.
  const broken = aroundD1(db, async (commit, _, [sql = '']) => {
    if (/^\s*insert into erasures/.test(sql)) {
      wasActive.push(await db.prepare("select active from organizations where id = 'fabrikam'").first('active'));
      if (wasActive.length === 1) await makeKey(db, 'late', { organizationId: 'fabrikam', userId: 'fay' });
    }
    if (!sql.startsWith('delete from tickets')) return commit();
    if (run === 1) throw new Error('Network connection lost.');
    if (run === 2) {
      isReached.resolve();
      await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
    }
    return commit();
  });
  const remote = await serveRemoteD1(broken);
  onTestFinished(remote.close);
  const file = join(files, 'in-parts.ndjson');
  const erase = (interrupted?: Promise<void>) => {
    run += 1;
    const args = ['fabrikam', '--export', file, '--by', 'Ada', '--confirm', 'fabrikam', '--remote'];
    return interrupted === undefined
      ? runCli('organization:erase', args, { env: remote.env })
      : spawnCli('organization:erase', args, { env: remote.env, interrupted });
  };
  const advice =
    'Organization fabrikam is inactive and partly removed. Make the same call again to go on, without another export.';
  const lost = await erase();
  expect(lost).toMatchObject({ code: 1, stderr: `The database failed: Network connection lost\n${advice}\n` });
  const exported = await readFile(file, 'utf8');
  // A change that came after the export is exported too, and none can come after that.
  expect(changesIn(exported)).toHaveLength(4);
  expect(wasActive).toEqual([1, 0]);

  expect(await erase(isReached.promise)).toMatchObject({ code: null, stderr: '' });
  const half = await runCli('changes:export', ['fabrikam', '--remote'], { env: remote.env });
  expect(half).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('is being erased') });

  const last = await erase();
  expect([last.code, last.stderr]).toEqual([0, '']);
  expect(last.stdout).toMatch(
    /^The erasure of organization fabrikam was begun at .* by Ada, after an export. It continues\.$/m,
  );
  expect(countsIn(last.stdout)).toEqual({ tickets: 2, companies: 1, users: 2, audit_log: 4, organizations: 1 });
  expect(await readFile(file, 'utf8')).toBe(exported);
  expect(await erase()).toMatchObject({ code: 2, stderr: expect.stringContaining('exists already') });
  const others = await db.prepare('select count(*) as n from organizations').first('n');
  expect(others).toBeGreaterThan(0);
});

test('an erasure that exports nothing leaves no file, and never overwrites one', async () => {
  const { db, env } = await databaseOfTest();
  const directory = await mkdtemp(join(files, 'none-'));
  const file = join(directory, 'new.ndjson');
  const taken = join(directory, 'taken.ndjson');
  await writeFile(taken, '');
  const run = (command: string, ...args: string[]) => runCli(command, [...args, '--remote'], { env });
  await makeKey(db, 'Something to export');
  const unknown = await run('organization:erase', 'contos', '--export', file, '--by', 'Ada', '--confirm', 'contos');
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('contos') });
  const [nameless, exportless, late] = await Promise.all([
    run('organization:erase', 'northwind', '--export', file, '--by', ' ', '--confirm', 'northwind'),
    run('organization:erase', 'northwind', '--by', 'Ada', '--confirm', 'northwind'),
    run('organization:erase', 'northwind', '--export', taken, '--by', 'Ada', '--confirm', 'northwind'),
  ]);
  expect([nameless.code, exportless.code, late.code]).toEqual([1, 2, 2]);
  expect(late.stderr).toContain(taken);
  expect(await readdir(directory)).toEqual(['taken.ndjson']);
  expect(await readFile(taken, 'utf8')).toBe('');
  expect(await db.prepare("select count(*) as n from organizations where id = 'northwind'").first('n')).toBe(1);
});
