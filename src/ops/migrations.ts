import { readdir, readFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { runD1 } from '../services/call-d1.ts';
import { CommandFailure } from './failures.ts';
import { RemoteD1 } from './remote-d1.ts';

const DIRECTORY = 'migrations';
const DEADLINE_MS = 60_000;

/** The names of the migrations, in their order. */
export const migrationNames = async () => (await readdir(DIRECTORY)).filter((name) => name.endsWith('.sql')).sort();

const readMigration = (name: string) => readFile(`${DIRECTORY}/${name}`, 'utf8');

/** The statements of a migration. In a trigger, `;` is not the end of a line. */
const statementsOf = (sql: string) => sql.split(/;\n/).filter((part) => part.replaceAll(/--.*/g, '').trim() !== '');

/**
 * Applies the migrations that a local database lacks, each in one transaction, and records them as
 * wrangler does. Wrangler itself needs ten seconds, because it starts a runtime for each migration.
 */
export async function migrate(db: D1Database): Promise<void> {
  await db
    .prepare(
      `create table if not exists d1_migrations(
         id integer primary key autoincrement, name text unique, applied_at timestamp default current_timestamp not null)`,
    )
    .run();
  const applied = new Set(await appliedMigrations(db));
  for (const name of await migrationNames()) {
    if (applied.has(name)) continue;
    const insert = db.prepare('insert into d1_migrations (name) values (?)').bind(name);
    await db.batch([...statementsOf(await readMigration(name)).map((sql) => db.prepare(sql)), insert]);
  }
}

interface SchemaObject {
  name: string;
  sql: string;
}

const OBJECTS = 'select name, sql from sqlite_master where sql is not null order by name';

/** The names of the migrations that were applied to a database, in their order. */
export async function appliedMigrations(db: D1Database): Promise<string[]> {
  if (!(await schemaOf(db)).has('d1_migrations')) return [];
  const { results } = await read(db, () =>
    db.prepare('select name from d1_migrations order by id').all<{ name: string }>(),
  );
  return results.map(({ name }) => name);
}

/** The statements of all tables, indexes and triggers of a database, by their names. */
async function schemaOf(db: D1Database): Promise<Map<string, string>> {
  const { results } = await read(db, () => db.prepare(OBJECTS).all<SchemaObject>());
  return new Map(results.map(({ name, sql }) => [name, withoutStyle(sql)]));
}

const read = <T>(db: D1Database, run: () => Promise<T>): Promise<T> =>
  runD1({ deadlineAt: Date.now() + DEADLINE_MS, waitsForLock: !(db instanceof RemoteD1) }, run);

const withoutStyle = (sql: string) => sql.replaceAll(/--.*/g, '').replaceAll(/\s+/g, ' ').trim();

/** The same as `schemaOf`, as these migrations create it. */
async function migratedSchema(names: readonly string[]): Promise<Map<string, string>> {
  const db = new DatabaseSync(':memory:');
  try {
    for (const name of names) db.exec(await readMigration(name));
    const objects = db.prepare(OBJECTS).all();
    return new Map(objects.map(({ name, sql }) => [String(name), withoutStyle(String(sql))]));
  } finally {
    db.close();
  }
}

const NEW_DATABASE = 'Create a new database (src/ops/deploy.md), and import the directory again.';

/**
 * Refuses a database whose schema is not what its migrations create, because no later migration applies to it.
 * @throws CommandFailure; `advice` says what to do
 */
export async function refuseOtherSchema(db: D1Database, advice = NEW_DATABASE): Promise<void> {
  const applied = await appliedMigrations(db);
  if (applied.length === 0) return;
  const names = await migrationNames();
  const refuse = (why: string) =>
    new CommandFailure(`This database ${why}, so it cannot be used. Nothing was changed. ${advice}`);
  const unknown = applied.find((name) => !names.includes(name));
  if (unknown !== undefined) throw refuse(`has the unknown migration ${unknown}`);
  const [present, migrated] = [await schemaOf(db), await migratedSchema(applied)];
  for (const [name, sql] of migrated)
    if (present.get(name) !== sql) throw refuse(`has another schema (${name}) than this version creates`);
}
