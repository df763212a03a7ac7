import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'twb-schema-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Adds to the folder what `npm run migration` adds to `migrations`. */
async function generate(): Promise<void> {
  // drizzle-kit writes `./` before the folder, so its path is relative.
  const options = ['--dialect', 'sqlite', '--schema', 'src/db/schema.ts', '--out', relative('.', folder)];
  await promisify(execFile)('npx', ['drizzle-kit', 'generate', ...options], { timeout: 20_000 });
}

async function migrated(migrations: string): Promise<DatabaseSync> {
  const db = new DatabaseSync(':memory:');
  const names = (await readdir(migrations)).filter((name) => name.endsWith('.sql')).sort();
  for (const name of names) db.exec(await readFile(join(migrations, name), 'utf8'));
  return db;
}

/** Everything that schema.ts defines: columns, constraints and indexes. */
function structureOf(db: DatabaseSync) {
  const columns = db.prepare(
    `select t.name as "table", c.name, c.type, c."notnull", c.dflt_value, c.pk
     from sqlite_schema t join pragma_table_info(t.name) c where t.type = 'table' order by t.name, c.name`,
  );
  const tables = db.prepare("select name, sql from sqlite_schema where type = 'table' order by name").all();
  const indexes = db.prepare(
    "select name, sql from sqlite_schema where type = 'index' and sql is not null order by name",
  );
  const constraints = tables.map(({ name, sql }) => {
    const lines = Array.from(String(sql).matchAll(/^\s*((?:CONSTRAINT|FOREIGN KEY) .*?),?$/gm), ([, line]) => line);
    return [name, lines.sort()];
  });
  return { columns: columns.all(), constraints, indexes: indexes.all() };
}

test('a new migration would be empty', async () => {
  await cp('migrations', folder, { recursive: true });
  await generate();
  expect(await readdir(folder)).toEqual(await readdir('migrations'));
});

test('the migrations create the tables, constraints and indexes of schema.ts', async () => {
  await generate();
  expect(structureOf(await migrated('migrations'))).toEqual(structureOf(await migrated(folder)));
});

test('schema.sql contains every table, index and trigger of a migrated database', async () => {
  const objects = (await migrated('migrations')).prepare(
    `select sql from sqlite_schema where sql is not null and name not like 'sqlite\\_%' escape '\\'
     order by tbl_name, type = 'table' desc, type, name`,
  );
  const list = objects.all().map(({ sql }) => `${sql};\n`);
  await expect(list.join('\n')).toMatchFileSnapshot('./schema.sql');
});
