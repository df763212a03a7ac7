import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operatorContext } from '../../src/cli/command.ts';
import { importDirectory } from '../../src/cli/import/import-directory.ts';
import { withLocalD1 } from '../../src/cli/local.ts';
import { generateKey, hashKey } from '../../src/domain/api-key.ts';
import { type CreatedKey, createApiKey } from '../../src/services/keys/create-key.ts';
import { findKey } from '../../src/services/keys/find-key.ts';
import { revokeAsOperator } from '../../src/services/keys/revoke-key.ts';
import { createNote } from '../../src/services/work/create-note.ts';
import { listChanges } from '../../src/services/work/list-changes.ts';
import { bigDirectory, directoryLines } from '../support/big-directory.ts';
import { localDatabase, runCli } from '../support/command.ts';
import { serveRemoteD1 } from '../support/remote-d1-stub.ts';

const DEMO = 'src/dev/demo-directory.ndjson';

let local: Awaited<ReturnType<typeof localDatabase>>;
let here: string[];
beforeAll(async () => {
  local = await localDatabase();
  here = ['--persist-to', local.persistTo];
  const demo = await readFile(DEMO, 'utf8');
  expect(await withLocalD1(local.persistTo, (db) => importDirectory(db, demo))).toMatchObject({ ok: true });
});
afterAll(() => local.remove());

const setup = { now: Date.now, requestId: 'setup', source: { address: null, userAgent: null } };

/** Gives an organization a key. */
function makeKey(db: D1Database, name: string, organizationId = 'northwind', userId = 'ada'): Promise<CreatedKey> {
  const ctx = { ...setup, db, deadlineAt: Date.now() + 30_000, actor: { organizationId, userId } };
  return createApiKey(ctx, 'twb', { name, scopes: ['tickets:note:write'] });
}

/** Gives fabrikam a key and writes notes with it; returns the ids of the notes. */
async function writeNotes(db: D1Database, messages: string[]): Promise<string[]> {
  const ctx = { ...setup, db, deadlineAt: Date.now() + 30_000 };
  const { value } = await makeKey(db, `n8n ${crypto.randomUUID()}`, 'fabrikam', 'fay');
  const actor = await findKey(ctx, await hashKey(value));
  if (!actor) throw new Error('the key is not there');
  const ids: string[] = [];
  for (const message of messages) {
    const target = { ticketId: '1001', idempotencyKey: undefined };
    ids.push((await createNote({ ...ctx, requestId: crypto.randomUUID(), actor }, target, { message })).row.id);
  }
  return ids;
}

test('20,000 tickets come in over standard input, and a second time change nothing', async () => {
  const lines = () => directoryLines(bigDirectory(0.1));
  expect(await runCli('directory:import', ['-', ...here], { input: lines() })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('20255 records of 5 organizations: 20260 created, 0 changed'),
  });
  expect(await runCli('directory:import', ['-', ...here], { input: lines() })).toMatchObject({
    code: 0,
    stdout: '20255 records of 5 organizations: 0 created, 0 changed, 0 rows written.\n',
  });
});

test('a dry run counts what would change, --verbose lists it, a wrong file gets each error, a wrong call the usage', async () => {
  const demo = await readFile(DEMO, 'utf8');
  // One after the other: two processes in one local database at once may find it locked.
  const input = [
    demo.replace('"hourlyRate":150', '"hourlyRate":155.5'),
    '{"type":"company","organization":"northwind","id":"new-one","name":"New"}\n',
  ];
  const dry = await runCli('directory:import', ['-', '--dry-run', ...here], { input });
  const verbose = await runCli('directory:import', ['-', '--dry-run', '--verbose', ...here], { input });
  const wrong = await runCli('directory:import', ['-', ...here], {
    input: [demo.replace('"hourlyRate":150', '"hourlyRate":"150"'), '{'],
  });
  const [noFile, misused] = await Promise.all([
    runCli('directory:import', ['no-such-file', ...here]),
    runCli('directory:import', ['a', 'b']),
  ]);
  const counts = [
    'northwind company: 1 would be created, 0 would be changed',
    'northwind agreement: 0 would be created, 1 would be changed',
    '25 records of 3 organizations: 1 would be created, 1 would be changed, 0 rows written.',
  ];
  const changes = ['northwind company new-one: new', 'northwind agreement acme-support: hourlyRate 150.00 → 155.50'];
  expect(dry).toMatchObject({ code: 0, stderr: '' });
  expect(dry.stdout.trim().split('\n')).toEqual(counts);
  expect(verbose.stdout.trim().split('\n')).toEqual([...changes, ...counts]);
  expect(wrong.code).toBe(1);
  expect(wrong.stderr.trim().split('\n')).toEqual([
    'line 9, agreement acme-support, /hourlyRate (invalid_type): hourlyRate was the string "150"; send a number from 0 to 100000 with at most two decimals',
    'line 25, record (malformed_json): the line is not a JSON object',
    '',
    '2 errors; nothing was written.',
  ]);
  expect(noFile).toMatchObject({ code: 1, stderr: expect.stringContaining('no-such-file') });
  expect(misused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Usage: npm run ops -- directory:import FILE|-'),
  });
});

test('what happened is exported, goes on from any line, is redacted, and is erased only together with its export', async () => {
  const [secret = ''] = await withLocalD1(local.persistTo, (db) =>
    writeNotes(db, ['the password is hunter2', 'harmless']),
  );
  const exported = await runCli('changes:export', ['fabrikam', ...here]);
  const lines = exported.stdout
    .trim()
    .split('\n')
    .map((line): { cursor: string; action: string } => JSON.parse(line));
  expect(lines.map(({ action }) => action)).toEqual(['api_key.created', 'note.created', 'note.created']);

  const redact = ['fabrikam', 'note', secret, '--by', 'Ada', ...here];
  expect(await runCli('record:redact', redact)).toMatchObject({
    code: 0,
    stdout: `The text of note ${secret} is removed.\n`,
  });
  const output = join(local.persistTo, 'later.ndjson');
  await runCli('changes:export', ['fabrikam', '--cursor', lines[2]?.cursor ?? '', '--output', output, ...here]);
  expect((await readFile(output, 'utf8')).trim().split('\n')).toEqual([
    expect.stringContaining('"action":"note.redacted"'),
  ]);

  const file = join(local.persistTo, 'fabrikam.ndjson');
  const erase = (...args: string[]) => runCli('organization:erase', ['fabrikam', ...args, ...here]);
  expect(await erase('--by', 'Ada')).toMatchObject({ code: 2 });
  const rows = [
    '  2  notes',
    '  0  time_entries',
    '  0  refused_uses',
    '  1  api_keys',
    '  0  agreements',
    '  2  tickets',
    '  1  companies',
    '  2  users',
    '  4  audit_log',
    '  1  organizations',
  ];
  expect(await erase('--dry-run')).toMatchObject({
    code: 0,
    stdout: `Organization fabrikam would lose these rows; nothing was removed:\n${rows.join('\n')}\n`,
  });
  for (const confirm of [[], ['--confirm', 'northwind']]) {
    const refused = await erase('--export', file, '--by', 'Ada', ...confirm);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr.split('\n')[0]).toBe(
      'Nothing was removed: repeat the id with --confirm fabrikam. What would be removed: --dry-run.',
    );
    expect(existsSync(file)).toBe(false);
  }
  expect(await erase('--export', file, '--by', 'Ada', '--confirm', 'fabrikam')).toMatchObject({
    code: 0,
    stdout: `4 changes are in ${file}. Organization fabrikam is erased.\nRows removed:\n${rows.join('\n')}\n`,
  });
  expect(await erase('--dry-run')).toMatchObject({ code: 1, stderr: 'There is no organization fabrikam.\n' });
  const kept = await readFile(file, 'utf8');
  expect(kept.trim().split('\n')).toHaveLength(4);
  expect(kept).not.toContain('hunter2');
  expect(await runCli('changes:export', ['fabrikam', ...here])).toMatchObject({
    code: 1,
    stderr: 'There is no organization fabrikam.\n',
  });
});

test('a command that exports nothing leaves no file of its own, and says what to do about one that is there', async () => {
  await withLocalD1(local.persistTo, (db) => makeKey(db, 'Something to export'));
  const files = await mkdtemp(join(tmpdir(), 'export-'));
  try {
    const [file, taken] = [join(files, 'new.ndjson'), join(files, 'taken.ndjson')];
    await writeFile(taken, '');
    const erase = (organization: string, path: string, by = 'Ada') =>
      runCli('organization:erase', [
        ...[organization, '--export', path, '--by', by, '--confirm', organization],
        ...here,
      ]);
    // One after the other: two processes in one local database at once may find it locked.
    const nobody = [
      await erase('contos', file),
      await runCli('changes:export', ['contos', '--output', file, ...here]),
      await runCli('changes:export', ['contos', '--output', taken, ...here]),
    ];
    for (const ran of nobody) expect(ran).toMatchObject({ code: 1, stderr: 'There is no organization contos.\n' });
    const [nameless, late] = await Promise.all([erase('northwind', file, ' '), erase('northwind', taken)]);
    expect(nameless).toMatchObject({ code: 1, stderr: expect.stringContaining('by was only white space') });
    expect(late.code).toBe(2);
    expect(late.stderr.split('\n')[0]).toBe(
      `The file ${taken} exists already. Name a new one with --export, or remove that one.`,
    );
    expect(await readdir(files)).toEqual(['taken.ndjson']);
  } finally {
    await rm(files, { recursive: true });
  }
});

test('a key is revoked by what comes on standard input, which no output repeats', async () => {
  const [one, two] = await withLocalD1(local.persistTo, async (db) => [
    await makeKey(db, 'One'),
    await makeKey(db, 'Two'),
  ]);
  if (!one || !two) throw new Error('no keys');
  const by = ['--by', 'Ada, phone call', ...here];
  const described = (key: CreatedKey, name: string) =>
    `"${name}" (${key.hint}), key ${key.id}, of northwind (Northwind MSP)`;

  expect(await runCli('key:revoke', ['--dry-run', ...here], { input: [one.hint] })).toMatchObject({
    code: 0,
    stdout: `Would be revoked: ${described(one, 'One')}. Nothing was changed.\n`,
  });
  const revoked = await runCli('key:revoke', by, { input: [`Bearer ${one.value}\n`] });
  expect(revoked).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining(`Z: ${described(one, 'One')}.\nFrom now on`),
  });
  expect(revoked.stdout).toMatch(/^Revoked at 20/);
  const at = revoked.stdout.slice('Revoked at '.length, 'Revoked at 2026-01-01T00:00:00.000Z'.length);
  expect(await runCli('key:revoke', by, { input: [one.hint] })).toMatchObject({
    code: 0,
    stdout: `Already revoked, at ${at}: ${described(one, 'One')}. Nothing was changed.\n`,
  });

  const refused = [
    await runCli('key:revoke', by, { input: [`${generateKey('twb')}\n`] }),
    await runCli('key:revoke', by, { input: [two.value.slice(0, -1)] }),
    await runCli('key:revoke', [...by, '--organization', 'contoso', '--key', two.id]),
  ];
  expect(refused.map(({ code, stderr }) => [code, stderr])).toEqual([
    [1, 'This database has no such key. Another environment has its keys in its own database.\n'],
    [1, 'This is neither a hint such as twb_Ab12…x9Yz nor a whole key; it may be truncated.\n'],
    [1, `Organization contoso has no key ${two.id}.\n`],
  ]);
  const misused = await Promise.all([
    runCli('key:revoke', by, { input: [] }),
    runCli('key:revoke', here, { input: [two.value] }),
    runCli('key:revoke', [...by, two.value]),
    runCli('key:revoke', [...by, '--organization', 'northwind', '--key', two.value]),
    runCli('key:revoke', [...by, `--${two.value}`]),
  ]);
  expect(misused.map(({ code, stderr }) => [code, stderr.split('\n')[0]])).toEqual([
    [2, 'Standard input is empty.'],
    [2, 'Add --by NAME: who asked for this. It is kept in the database.'],
    ...Array(3).fill([2, expect.stringMatching(/^A key value is on the command line/)]),
  ]);
  for (const { stdout, stderr } of [...refused, ...misused])
    expect(stdout + stderr).not.toContain(two.value.slice(4, 20));
  expect(revoked.stdout).not.toContain(one.value.slice(4, 20));
});

test('keys with the same hint are listed, and the one that is named is revoked', async () => {
  const [one, two] = await withLocalD1(local.persistTo, async (db) => {
    const keys = [await makeKey(db, 'Twin'), await makeKey(db, 'Other twin')];
    // As keys were named before control characters were refused.
    const update = db.prepare('update api_keys set hint = ?, name = ? where id = ?');
    await update.bind(keys[0]?.hint, 'Other\u001b twin', keys[1]?.id).run();
    return keys;
  });
  if (!one || !two) throw new Error('no keys');
  const by = ['--by', 'Ada', ...here];
  const listed = await runCli('key:revoke', by, { input: [one.hint] });
  expect(listed.code).toBe(1);
  expect(listed.stderr.trim().split('\n')).toEqual([
    '2 keys have this hint; nothing was revoked. Say which one:',
    `  --organization northwind --key ${one.id}: "Twin" (${one.hint}), key ${one.id}, of northwind (Northwind MSP), active`,
    `  --organization northwind --key ${two.id}: "Other\\u001b twin" (${one.hint}), key ${two.id}, of northwind (Northwind MSP), active`,
  ]);
  const named = await runCli('key:revoke', [...by, '--organization', 'northwind', '--key', two.id]);
  expect(named).toMatchObject({ code: 0, stdout: expect.stringContaining(`key ${two.id}`) });
  expect((await runCli('key:revoke', by, { input: [one.hint] })).stderr).toMatch(/, active\n.*, revoked\n$/);
});

test('--remote works through the API of Cloudflare, here a stand-in, and says what it misses', async () => {
  await withLocalD1(local.persistTo, async (db) => {
    const remote = await serveRemoteD1(db);
    const lines = [...directoryLines({ organizations: 1, companies: 2, technicians: 2, tickets: 2 })].map((line) =>
      line.replaceAll('msp-', 'far-'),
    );
    const run = (env = remote.env) => runCli('directory:import', ['-', '--remote'], { input: lines, env });
    try {
      expect(await run()).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('7 records of 1 organization: 8 created'),
      });
      expect(await run()).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('0 created, 0 changed, 0 rows written.'),
      });
      const [stranger, nameless] = await Promise.all([
        run({ ...remote.env, CLOUDFLARE_API_TOKEN: 'bad' }),
        run({ ...remote.env, CLOUDFLARE_API_TOKEN: '' }),
      ]);
      expect(stranger).toMatchObject({ code: 1, stderr: 'The database failed: Authentication error\n' });
      expect(nameless).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('--remote needs CLOUDFLARE_API_TOKEN'),
      });

      const { value, id } = await makeKey(db, 'Remote');
      const revoke = await runCli('key:revoke', ['--by', 'Ada', '--remote'], { input: [value], env: remote.env });
      expect(revoke).toMatchObject({ code: 0, stdout: expect.stringContaining(`key ${id}`) });
      expect(await findKey({ ...setup, db, deadlineAt: Date.now() + 30_000 }, await hashKey(value))).toMatchObject({
        revokedAt: expect.any(Number),
      });
    } finally {
      await remote.close();
    }
  });
});

test('a closed standard output ends a command that reads quietly, and does not stop one that writes', async () => {
  const { value } = await withLocalD1(local.persistTo, (db) => makeKey(db, 'Piped'));
  /**
   * Runs a command whose reader has ended before the first line, and returns the command's own exit
   * code and standard error.
   */
  const piped = async (args: string, input: string) => {
    const line = `printf %s "$INPUT" | node src/cli/ops.ts ${args} | true; echo "\${PIPESTATUS[1]}"`;
    return promisify(execFile)('bash', ['-c', line], { env: { ...process.env, INPUT: input, HERE: local.persistTo } });
  };
  const quiet = { stdout: '0\n', stderr: '' };
  const company = (id: string) => `{"type":"company","organization":"northwind","id":"${id}","name":"Piped"}`;
  expect(await piped('--help', '')).toEqual(quiet);
  expect(await piped('directory:schema', '')).toEqual(quiet);
  expect(await piped('changes:export northwind --persist-to "$HERE"', '')).toEqual(quiet);
  const many = Array.from({ length: 1000 }, (_, index) => company(`piped-${index}`)).join('\n');
  expect(await piped('directory:import - --dry-run --verbose --persist-to "$HERE"', many)).toEqual(quiet);
  expect(await piped('directory:import - --verbose --persist-to "$HERE"', company('piped'))).toEqual(quiet);
  expect(await piped('key:revoke --by Ada --persist-to "$HERE"', value)).toEqual(quiet);
  await withLocalD1(local.persistTo, async (db) => {
    const { results } = await db.prepare("select id from companies where name = 'Piped'").all();
    expect(results).toEqual([{ id: 'piped' }]);
    expect(await findKey(operatorContext(db), await hashKey(value))).toMatchObject({ revokedAt: expect.any(Number) });
  });
});

describe('after a restore', () => {
  const before = 'npm run -s ops -- changes:export northwind --remote > before-northwind.ndjson';
  const revoke = 'npm run -s ops -- key:revoke --organization northwind --from before-northwind.ndjson --remote';
  const after = `${revoke} --by "Ada, after the restore"`;

  /**
   * Runs commands with their files in the directory, and with the database in the place of the
   * deployed one.
   */
  async function follow(block: string, db: D1Database, directory: string): Promise<{ stdout: string; stderr: string }> {
    const remote = await serveRemoteD1(db);
    const env = { ...process.env, ...remote.env };
    try {
      return await promisify(execFile)('bash', ['-c', block.replaceAll('before-', join(directory, 'before-'))], {
        env,
      });
    } finally {
      await remote.close();
    }
  }

  test('the keys that it made valid are revoked again by the export from before it, and no others', async () => {
    const { persistTo, remove } = await localDatabase();
    const point = `${persistTo}-point`;
    const files = await mkdtemp(join(tmpdir(), 'restore-'));
    try {
      const demo = await readFile(DEMO, 'utf8');
      const { leaked, live, old } = await withLocalD1(persistTo, async (db) => {
        expect(await importDirectory(db, demo)).toMatchObject({ ok: true });
        const keys = {
          leaked: await makeKey(db, 'Leaked'),
          live: await makeKey(db, 'Live'),
          old: await makeKey(db, 'Old'),
        };
        await revokeAsOperator(operatorContext(db), { organization: 'northwind', key: keys.old.id, by: 'Ada' });
        return keys;
      });
      await cp(persistTo, point, { recursive: true });

      const { cursor, late } = await withLocalD1(persistTo, async (db) => {
        const late = await makeKey(db, 'Late');
        for (const { id } of [leaked, late])
          await revokeAsOperator(operatorContext(db), { organization: 'northwind', key: id, by: 'Ada' });
        await follow(before, db, files);
        return {
          late,
          ...(await listChanges(operatorContext(db), { organization: 'northwind', cursor: null, limit: 100 })),
        };
      });
      await rm(persistTo, { recursive: true });
      await rename(point, persistTo);

      await withLocalD1(persistTo, async (db) => {
        const standing = async ({ value }: CreatedKey) => findKey(operatorContext(db), await hashKey(value));
        expect(await standing(leaked)).toMatchObject({ revokedAt: null });
        const describe = ({ id, hint }: CreatedKey, name: string) =>
          `"${name}" (${hint}), key ${id}, of northwind (Northwind MSP).`;
        const missing = `Missing: (${late.hint}), key ${late.id}. The database does not have it, so it gets 401.`;
        expect(await follow(`${revoke} --dry-run`, db, files)).toEqual({
          stdout: [
            `Would be revoked: ${describe(leaked, 'Leaked')}`,
            `Already revoked: ${describe(old, 'Old')}`,
            missing,
            '3 revoked keys in the file: 1 would be revoked, 1 already revoked, 1 missing.\n',
          ].join('\n'),
          stderr: '',
        });
        expect(await standing(leaked)).toMatchObject({ revokedAt: null });
        await expect(follow(after.replace('northwind', 'contos'), db, files)).rejects.toMatchObject({
          code: 1,
          stderr: 'There is no organization contos.\n',
        });
        expect(await follow(after, db, files)).toEqual({
          stdout: [
            `Revoked: ${describe(leaked, 'Leaked')}`,
            `Already revoked: ${describe(old, 'Old')}`,
            missing,
            '3 revoked keys in the file: 1 revoked now, 1 already revoked, 1 missing.\n',
          ].join('\n'),
          stderr: '',
        });
        expect(await standing(leaked)).toMatchObject({ revokedAt: expect.any(Number) });
        expect(await standing(live)).toMatchObject({ revokedAt: null });
        expect(await standing(late)).toBeUndefined();
        // The place of the last change is another's now.
        const goOn = listChanges(operatorContext(db), { organization: 'northwind', cursor, limit: 100 });
        await expect(goOn).rejects.toMatchObject({ code: 'cursor_reset' });
      });
    } finally {
      await remove();
      await rm(files, { recursive: true });
    }
  });
});
