import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { ObjectStore } from '../../../../src/lib/object-store.ts';
import { deleteObjects, listObjects } from '../../../../src/modules/archive/bucket.ts';
import { cloudflareApi } from '../../../../src/ops/cloudflare-api.ts';
import { operatorContext } from '../../../../src/ops/open-database.ts';
import { remoteArchive } from '../../../../src/ops/remote-store.ts';
import { listChanges } from '../../../../src/services/work/list-changes.ts';
import { databaseOfTest, writeNotes } from '../../../ops/commands/database.ts';
import { age, commandsOf, organization } from '../../../ops/commands/old-records.ts';
import { MINIMAL, writeDeployments } from '../../../support/deployments.ts';
import { runCli } from '../../../support/run-cli.ts';

const OBJECT = /^fabrikam\/000000000001-000000000003-[0-9a-f]{16}\.ndjson\.gz\n$/;
const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

/** Three notes of 40 days ago. Returns the cursor of the second, and the changes as the feed has them. */
async function oldNotes(db: D1Database) {
  await writeNotes(db, ['the password is hunter2', 'it was hunter3', 'the newest']);
  await age(db, 40);
  const { changes } = await listChanges(operatorContext(db), { organization, cursor: null, limit: 100 });
  return { cursor: changes[2]?.cursor ?? '', lines: changes.map((change) => JSON.stringify(change)) };
}

test('changes are released, archived, read, exported and erased', async () => {
  const remote = await databaseOfTest();
  const files = await mkdtemp(join(tmpdir(), 'twb-archive-'));
  onTestFinished(() => rm(files, { recursive: true }));
  const ops = commandsOf(remote);
  const { cursor, lines } = await oldNotes(remote.db);
  expect(await ops('work:release', organization, '--cursor', cursor)).toMatchObject({
    code: 0,
    stdout: 'The changes of organization fabrikam up to 3 are released.\n',
  });
  expect(await ops('work:release', 'northwind', '--cursor', cursor)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('The position of the cursor is not in this database'),
  });
  expect(await ops('archive:run', '--keep-days', '41')).toMatchObject({
    stdout: '',
    stderr: '0 changes archived.\n',
  });
  const run = await ops('archive:run', organization, '--keep-days', '30');
  expect(run).toMatchObject({ code: 0, stdout: expect.stringMatching(OBJECT), stderr: '3 changes archived.\n' });
  expect((await ops('size')).stdout).toMatch(/^fabrikam +3 +3 +1 +\d{4}-\d\d-\d\d$/m);

  const file = join(files, 'fabrikam.ndjson');
  const erased = await ops(
    'organization:erase',
    organization,
    '--export',
    file,
    '--by',
    'A',
    '--confirm',
    organization,
  );
  expect([erased.code, linesOf(await readFile(file, 'utf8'))]).toEqual([0, lines]);
  expect(await listObjects({ ...operatorContext(remote.db), archive: remote.archive }, '')).toEqual([]);
});

test.each([
  [true, /archive did not respond.*\nCause: Cloudflare's API found no bucket other-archive/],
  [false, /^The deployment has no archive\.\n/],
])('the check reports that the deployment (archive: %j) has no bucket', async (archive, message) => {
  const remote = await databaseOfTest();
  const other = await writeDeployments({ other: { name: 'other', archive } });
  const failed = await runCli('archive:check', ['--remote'], { env: { ...remote.env, ...other } });
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringMatching(message) });
});

test('a deployment with a wrong KEEP_DAYS is refused', async () => {
  const env = await writeDeployments({ eu: { archive: true, vars: { KEEP_DAYS: '0' } } });
  const { code, stderr } = await runCli('archive:check', ['--remote'], { env });
  expect([code, stderr]).toEqual([1, expect.stringContaining('eu.toml: KEEP_DAYS: "0" is not a whole number of days')]);
});

test('objects of a deployed bucket are deleted in small groups, and every call waits for its turn', async () => {
  const remote = await databaseOfTest();
  const pace = vi.fn(() => 0);
  const archive = remoteArchive(cloudflareApi(MINIMAL.account, remote.env, pace), 'ticket-write-back-archive');
  const groups: number[] = [];
  const counted: ObjectStore = {
    ...archive,
    delete: (names) => {
      groups.push(names.length);
      return archive.delete(names);
    },
  };
  const objects = Array.from({ length: 120 }, (_, number) => ({ name: `fabrikam/${number}` }));
  await deleteObjects({ ...operatorContext(remote.db), archive: counted }, objects);
  expect(groups).toEqual([50, 50, 20]);
  expect(pace).toHaveBeenCalledTimes(120);
});

test.each([
  ['work:release', ['fabrikam'], /^error: required option '--cursor <CURSOR>' not specified\n/],
  ['work:release', ['fabrikam', '--cursor', 'x'], /^error: option '--cursor <CURSOR>' argument 'x' is invalid\./],
  ['archive:run', ['--keep-days', '0'], /^--keep-days .* from 1 to 36500\.\n/],
])('%s %j is refused', async (command, args, message) => {
  expect(await runCli(command, args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
});
