import { readdir, readFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { is, SQL } from 'drizzle-orm';
import { getTableConfig, SQLiteAsyncDialect, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { expect, test } from 'vitest';
import * as audit from '../../src/db/schema/audit.ts';
import * as directory from '../../src/db/schema/directory.ts';
import * as keys from '../../src/db/schema/keys.ts';
import * as modules from '../../src/db/schema/modules.ts';
import * as work from '../../src/db/schema/work.ts';

// Drizzle cannot say STRICT and WITHOUT ROWID. Every table is strict, and these are the ones with a rowid.
const WITH_ROWID = ['notes'];

const dialect = new SQLiteAsyncDialect();
const TABLES = [directory, keys, work, audit, modules].flatMap((group) =>
  Object.values(group).filter((table) => is(table, SQLiteTable)),
);

const literal = (value: SQL) => dialect.sqlToQuery(value.inlineParams(), 'indexes').sql;
const namesOf = (columns: readonly (SQL | { name: string })[]) =>
  columns.map((column) => (is(column, SQL) ? literal(column) : column.name)).join(', ');
const defaultOf = (value: unknown) => {
  if (value === undefined) return '';
  return ` default ${is(value, SQL) ? literal(value) : typeof value === 'string' ? `'${value}'` : String(value)}`;
};

/** The statements that create a table and its indexes, by name. */
function statementsOf(table: SQLiteTable): [name: string, sql: string][] {
  const { name, columns, primaryKeys, foreignKeys, checks, indexes } = getTableConfig(table);
  const lines = [
    ...columns.map(
      (column) =>
        `${column.name} ${column.getSQLType()}${column.primary ? ' primary key' : ''}${defaultOf(column.default)}${column.notNull ? ' not null' : ''}`,
    ),
    ...primaryKeys.map((key) => `primary key (${namesOf(key.columns)})`),
    ...foreignKeys.map((key) => {
      const { columns: own, foreignColumns, foreignTable } = key.reference();
      return `foreign key (${namesOf(own)}) references ${getTableConfig(foreignTable).name} (${namesOf(foreignColumns)})`;
    }),
    ...checks.map((check) => `constraint ${check.name} check (${literal(check.value)})`),
  ];
  const options = WITH_ROWID.includes(name) ? 'strict' : 'strict, without rowid';
  return [
    [name, `create table ${name} (${lines.join(', ')}) ${options}`],
    ...indexes.map(({ config }): [string, string] => {
      const where = config.where ? ` where ${literal(config.where)}` : '';
      const unique = config.unique ? 'unique ' : '';
      return [config.name, `create ${unique}index ${config.name} on ${name} (${namesOf(config.columns)})${where}`];
    }),
  ];
}

/** A statement without its comments, quotes, capital letters and white space, except in literals. */
function withoutStyle(sql: string): string {
  const parts = sql.replaceAll(/--.*/g, '').match(/'[^']*'|[^']+/g) ?? [];
  return parts
    .map((part) => (part.startsWith("'") ? part : part.toLowerCase().replaceAll(/[`"]/g, '').replaceAll(/\s+/g, ' ')))
    .join('')
    .replaceAll(/ ?([(),]) ?/g, '$1');
}

/** The tables and indexes that the migrations create. */
async function migrated(): Promise<Record<string, string>> {
  const db = new DatabaseSync(':memory:');
  for (const name of (await readdir('migrations')).filter((name) => name.endsWith('.sql')).sort())
    db.exec(await readFile(`migrations/${name}`, 'utf8'));
  const found = db
    .prepare(
      "select name, sql from sqlite_schema where sql is not null and type <> 'trigger' and name not like 'sqlite\\_%' escape '\\'",
    )
    .all();
  return Object.fromEntries(found.map(({ name, sql }) => [String(name), withoutStyle(String(sql))]));
}

test('The schema has the tables, columns, keys, checks and indexes that the migrations create', async () => {
  expect(TABLES.length).toBeGreaterThan(15);
  const described = TABLES.flatMap(statementsOf).map(([name, sql]) => [name, withoutStyle(sql)]);
  expect(Object.fromEntries(described)).toEqual(await migrated());
});

test('No column maps its values: services get a row as it is in D1', () => {
  const mapping = TABLES.flatMap((table) => getTableConfig(table).columns)
    .filter((column) => ['1', 1].some((value) => column.mapFromDriverValue(value) !== value))
    .map(({ name }) => name);
  expect(mapping).toEqual([]);
});

test('A check of white space has the characters that JavaScript trims', () => {
  const trimmed = Array.from({ length: 0x10000 }, (_, code) => code).filter(
    (code) => String.fromCharCode(code).trim() === '',
  );
  const [message] = getTableConfig(work.notes).checks;
  expect(message && literal(message.value)).toContain(`char(${trimmed.join(',')})`);
});
