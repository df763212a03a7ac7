import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { paceOf } from '../../../src/ops/cloudflare-api.ts';
import { program } from '../../../src/ops/program.ts';
import { spawnCli } from '../../support/command.ts';
import { runCli } from '../../support/run-cli.ts';
import { copyDatabase } from '../../support/shared.ts';
import { withRemote } from './database.ts';

const COMMANDS = program.commands.map((command) => ({
  name: command.name(),
  summary: command.summary(),
  options: command.options.map(({ long }) => long ?? ''),
  args: command.registeredArguments.map((argument) => argument.name()),
}));

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ops-'));
});
afterAll(() => rm(directory, { recursive: true }));

describe('help', () => {
  test('the program lists every command with one line', async () => {
    const { code, stdout, stderr } = await spawnCli('--help', []);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.slice(stdout.indexOf('Commands:\n')).trim().split('\n').slice(1);
    expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual(
      COMMANDS.map(({ name, summary }) => [name, summary]),
    );
    expect(COMMANDS.length).toBe(17);
  });

  test.each(COMMANDS)('the help of $name shows its purpose, its arguments and options', async (command) => {
    const { code, stdout, stderr } = await runCli(command.name, ['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [usage, purpose] = stdout.split('\n\n');
    expect(usage).toMatch(`Usage: npm run ops -- ${command.name}`);
    expect(purpose).toMatch(/^[A-Z].*\.$/s);
    for (const option of command.options) {
      expect(stdout).toMatch(new RegExp(`^  ${option} .*[A-Z]`, 'm'));
    }
    for (const argument of command.args) expect(stdout).toMatch(new RegExp(`^  ${argument} +[A-Z]`, 'm'));
  });
});

test.each<[string[], string, string]>([
  [
    ['key:revok'],
    "error: unknown command 'key:revok'\n(Did you mean key:revoke?)",
    'npm run ops -- [options] [command]',
  ],
  [['deploy\u001b'], "error: unknown command 'deploy\\u001b'", 'npm run ops -- [options] [command]'],
  [['--verbose'], "error: unknown option '--verbose'", 'npm run ops -- [options] [command]'],
  [
    ['directory:import', 'file', '--dryrun'],
    "error: unknown option '--dryrun'\n(Did you mean --dry-run?)",
    'npm run ops -- directory:import [options] <FILE>',
  ],
  [
    ['changes:export'],
    "error: missing required argument 'ORGANIZATION'",
    'npm run ops -- changes:export [options] <ORGANIZATION>',
  ],
  [
    ['changes:export', 'northwind', '--remote', '--persist-to', 'x'],
    "error: option '--remote' cannot be used with option '--persist-to <DIRECTORY>'",
    'npm run ops -- changes:export [options] <ORGANIZATION>',
  ],
  [
    ['record:redact', 'northwind', 'ticket', 'x', '--by', 'Ada'],
    "error: command-argument value 'ticket' is invalid for argument 'KIND'. Allowed choices are note, time_entry.",
    'npm run ops -- record:redact [options] <ORGANIZATION> <KIND> <ID>',
  ],
  [
    ['key:revoke', 'northwind', '--by', 'Ada'],
    "error: too many arguments for 'key:revoke'. Expected 0 arguments but got 1: northwind.",
    'npm run ops -- key:revoke [options]',
  ],
  [
    ['changes:export', 'northwind', '--cursor', 'hello'],
    "error: option '--cursor <CURSOR>' argument 'hello' is invalid. It is not a cursor; take one from a line of changes:export.",
    'npm run ops -- changes:export [options] <ORGANIZATION>',
  ],
])('a wrong call gets the reason, the usage and exit code 2: %j', async (args, sentence, usage) => {
  const [command = '', ...rest] = args;
  const { code, stdout, stderr } = await runCli(command, rest);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr.split('\n\n').slice(0, 2)).toEqual([sentence, expect.stringContaining(`Usage: ${usage}`)]);
});

test.each([
  [['directory:import', 'missing.ndjson'], "ENOENT: no such file or directory, open 'missing.ndjson'"],
  [['directory:import', 'src'], 'EISDIR: illegal operation on a directory, read'],
  [['changes:repeat', 'northwind', 'no/file', '--by', 'Ada'], "ENOENT: no such file or directory, open 'no/file'"],
])('a file that cannot be used gets one line: %j', async (args, line) => {
  const [command = '', ...rest] = args;
  expect(await runCli(command, rest)).toEqual({ code: 1, stdout: '', stderr: `${line}\n` });
});

test('a call without a command prints the list of commands on standard error', async () => {
  await expect(promisify(execFile)('node', ['src/ops/ops.ts'])).rejects.toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringMatching(/^Name a command\.\n\nUsage: .*\n {2}key:revoke /s),
  });
});

test('an unmigrated database leads to advice about the migration and --persist-to', async () => {
  const { code, stderr } = await runCli('changes:export', ['northwind', '--persist-to', join(directory, 'empty')]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^The database is not migrated: run `npm run deploy -- --migrate`.*--persist-to DIRECTORY.*\n$/,
  );
});

test('a database with an unknown migration is refused, with the next step', async () => {
  const { persistTo, remove } = await copyDatabase();
  onTestFinished(remove);
  const refused = (step: string) => ({
    code: 1,
    stdout: '',
    stderr: `This database has the unknown migration 0000_foundation.sql, so it cannot be used. Nothing was changed. ${step}\n`,
  });
  await withRemote(persistTo, async ({ db, env }) => {
    await db.prepare("insert into d1_migrations (name) values ('0000_foundation.sql')").run();
    const step = 'Create a new database (src/ops/deploy.md), and import the directory again.';
    expect(await runCli('size', ['--remote'], { env })).toEqual(refused(step));
  });
  const step = `To remove it with its data: rm -r ${persistTo}/v3`;
  expect(await runCli('size', ['--persist-to', persistTo])).toEqual(refused(step));
});

test("calls to Cloudflare's API are spaced after the first ones", () => {
  const pace = paceOf({ burst: 3, perSecond: 2 }, 0);
  expect([0, 0, 0, 0, 0].map(pace)).toEqual([0, 0, 0, 500, 1_000]);
  expect(pace(1_000)).toBe(500);
  expect(pace(1_600)).toBe(400);
  // After a pause there are no more at once than at the beginning.
  expect(Array.from({ length: 4 }, () => pace(60_000))).toEqual([0, 0, 0, 500]);
});

const change = { cursor: '0123456789abcdef.1.r', action: 'note.created', targetId: 'n', actor: { id: 'key' } };
const isWrong = (line: number) =>
  `Line ${line} of FILE is not a change of changes:export; it may be cut off. Nothing was repeated.\n`;
test.each([
  ['a line that is cut off', `${JSON.stringify(change)}\n{"cursor":"01`, isWrong(2)],
  ['a line of another file', '{"type":"organization"}\n', isWrong(1)],
  ['an empty file', '', 'FILE has no changes; did the export fail?\n'],
])('changes:repeat refuses %s before it opens the database', async (_, content, message) => {
  const file = join(directory, 'export.ndjson');
  await writeFile(file, content);
  const args = ['northwind', file, '--by', 'Ada', '--persist-to', join(directory, 'none')];
  const { code, stderr } = await runCli('changes:repeat', args);
  expect([code, stderr.replace(file, 'FILE')]).toEqual([1, message]);
});
