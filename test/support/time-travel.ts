import { env } from 'cloudflare:workers';
import { ERASED_TABLES } from '../../src/db/directory/erasure.ts';

/** Referenced tables before the tables that reference them. */
const TABLES = ERASED_TABLES.toReversed();

const idColumn = (table: string) => (table === 'organizations' ? 'id' : 'organization_id');
/** D1 returns a blob as an array of its bytes. */
const bindable = (value: unknown) => (Array.isArray(value) ? new Uint8Array(value) : value);

/** Runs statements as one transaction without any trigger, as for damage or a restore. */
export async function withoutTriggers(statements: readonly D1PreparedStatement[]): Promise<void> {
  const { results: triggers } = await env.DB.prepare("select name, sql from sqlite_schema where type = 'trigger'").all<{
    name: string;
    sql: string;
  }>();
  await env.DB.batch([
    ...triggers.map(({ name }) => env.DB.prepare(`drop trigger ${name}`)),
    ...statements,
    ...triggers.map(({ sql }) => env.DB.prepare(sql)),
  ]);
}

/**
 * Keeps all rows of an organization. The function that it returns brings them back, as a restore of the
 * database does: without the triggers, which refuse to go back.
 */
export async function keepRows(organization: string): Promise<() => Promise<void>> {
  const kept = await Promise.all(
    TABLES.map(async (table) => {
      const rows = env.DB.prepare(`select * from ${table} where ${idColumn(table)} = ?`).bind(organization);
      return { table, rows: (await rows.all()).results };
    }),
  );
  return () =>
    withoutTriggers([
      ...ERASED_TABLES.map((table) =>
        env.DB.prepare(`delete from ${table} where ${idColumn(table)} = ?`).bind(organization),
      ),
      ...kept.flatMap(({ table, rows }) =>
        rows.map((row) => {
          const columns = Object.keys(row);
          const insert = `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`;
          return env.DB.prepare(insert).bind(...Object.values(row).map(bindable));
        }),
      ),
    ]);
}
