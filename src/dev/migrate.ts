import { readdir, readFile } from 'node:fs/promises';

const DIRECTORY = 'migrations';

/** The names of the migrations, in their order. */
export const migrationNames = async () => (await readdir(DIRECTORY)).filter((name) => name.endsWith('.sql')).sort();

/**
 * Applies the migrations that a local database lacks, each in one transaction, and records them as
 * wrangler does. Wrangler itself needs ten seconds, because it starts a runtime for each migration.
 */
export async function migrate(db: D1Database, names?: readonly string[]): Promise<void> {
  await db
    .prepare(
      `create table if not exists d1_migrations(
         id integer primary key autoincrement, name text unique, applied_at timestamp default current_timestamp not null)`,
    )
    .run();
  const applied = new Set(await appliedMigrations(db));
  for (const name of names ?? (await migrationNames())) {
    if (applied.has(name)) continue;
    const statements = (await readFile(`${DIRECTORY}/${name}`, 'utf8')).split('--> statement-breakpoint');
    const insert = db.prepare('insert into d1_migrations (name) values (?)').bind(name);
    await db.batch([...statements.map((sql) => db.prepare(sql)), insert]);
  }
}

/** The migrations that were applied to a database, in their order. */
export async function appliedMigrations(db: D1Database): Promise<string[]> {
  const table = await db.prepare("select name from sqlite_master where name = 'd1_migrations'").first();
  if (table === null) return [];
  const { results } = await db.prepare('select name from d1_migrations order by id').all<{ name: string }>();
  return results.map(({ name }) => name);
}
