import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { withLocalD1 } from '../../../src/ops/local.ts';
import { wranglerConfig } from '../../../src/ops/wrangler-config.ts';
import { runCli } from '../../support/run-cli.ts';
import { copyDatabase } from '../../support/shared.ts';
import { withRemote, writeNotes } from './database.ts';

/** The commands of the manual below this heading, on the local database of the directory. */
async function follow(heading: string, directory: string): Promise<void> {
  const manual = await readFile('src/ops/restore.md', 'utf8');
  const [, script = ''] = new RegExp(`^#+ ${heading}$[^]*?\`\`\`sh\n([^]*?)\`\`\``, 'm').exec(manual) ?? [];
  const local = script
    .split('\n')
    // The names of deployed things.
    .filter((line) => !/^ *(config=|npm run|export CLOUDFLARE)|d1 create/.test(line))
    .join('\n')
    .replaceAll('--remote', '--local')
    .replaceAll('npx wrangler', 'wrangler');
  expect(local).toContain('wrangler d1');
  await promisify(execFile)('bash', ['-ec', `config=main.json; ${local}`], {
    cwd: directory,
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false' },
  });
}

/** Each table in the database of a directory with its rows, and all indexes and triggers. */
const contents = (directory: string) =>
  withLocalD1(join(directory, '.wrangler/state'), async (db) => {
    const { results: schema } = await db
      .prepare(
        `select type, name, sql from sqlite_master where name not like '\\_cf%' escape '\\' and name <> 'sqlite_sequence' order by type, name`,
      )
      .all<{ type: string; name: string; sql: string }>();
    const rows: Record<string, unknown[]> = {};
    for (const { type, name } of schema)
      if (type === 'table') rows[name] = (await db.prepare(`select * from "${name}" order by 1, 2`).all()).results;
    return { schema, rows };
  });

/** A directory with the configuration of a database. */
async function database(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'twb-backup-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const [{ binding, database_id }] = wranglerConfig.d1_databases;
  const d1_databases = [{ binding, database_id, database_name: 'ticket-write-back' }];
  await writeFile(
    join(directory, 'main.json'),
    JSON.stringify({ name: 'x', compatibility_date: '2026-08-01', d1_databases }),
  );
  return directory;
}

test('a copy that is made and put into an empty database as the manual says has all rows, indexes and triggers', async () => {
  const [directory, restored] = [await database(), await database()];
  const { persistTo, remove } = await copyDatabase('demo');
  onTestFinished(remove);
  await withRemote(persistTo, async ({ db, env }) => {
    await writeNotes(db, ['it\'s\n;\nCREATE TRIGGER x\nBEGIN; END;\n"é\u{1f600}"', '\u{1f600}'.repeat(20_000)]);
    const erased = ['northwind', '--export', join(directory, 'e'), '--by', 'Ada', '--confirm', 'northwind', '--remote'];
    expect(await runCli('organization:erase', erased, { env })).toMatchObject({ code: 0 });
  });
  await cp(persistTo, join(directory, '.wrangler/state'), { recursive: true });

  await follow('Keep a copy outside Cloudflare', directory);
  await cp(join(directory, 'copy.sql'), join(restored, 'copy.sql'));
  await follow('Restore from a copy', restored);
  const [before, after] = [await contents(directory), await contents(restored)];
  expect(after).toEqual(before);
  for (const [table, length] of Object.entries({ notes: 2, erasures: 1 }))
    expect(before.rows[table]).toHaveLength(length);
});
