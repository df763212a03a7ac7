import {
  type Column,
  fillPlaceholders,
  type GetColumnData,
  getTableColumns,
  is,
  Placeholder,
  type Query,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm';
import type { DrizzleD1Database } from 'drizzle-orm/d1';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';

// What the statements of this folder share. Most are ordinary builders, which `query` in services/call-d1.ts runs. The
// statements of a write, of the key lookup and of the alerts are built once for each isolate, because Drizzle takes 0.1 ms or
// more to build one.

/** D1 through Drizzle. It has no schema object: building one takes 0.07 ms for each request. */
export type Database = DrizzleD1Database;

/** A statement for a batch of D1, by default one without rows. Every builder of Drizzle is one: `_` has the type of its rows. */
export interface Statement<Row = never> {
  toSQL(): Query;
  readonly _: { readonly result: readonly Row[] | D1Result };
}

/** A statement with its values. Its rows have the names of `Row`'s fields. */
export class BoundStatement<Row> implements Statement<Row> {
  declare readonly _: { readonly result: readonly Row[] };
  private readonly query: Query;
  constructor(query: Query) {
    this.query = query;
  }
  toSQL(): Query {
    return this.query;
  }
}

/** A template as a statement, where the builder cannot say it. */
export const template = <Row = never>(db: Database, text: SQL) => new BoundStatement<Row>(db.all(text).getQuery());

/** The same for a select of these fields. `from` is the text after them. */
export const selectTemplate = <Selection extends Fields>(db: Database, selection: Selection, from: SQL) =>
  template<RowOf<Selection>>(db, sql`select ${fields(selection)} ${from}`);

/** A statement as D1's own `batch` takes it, for the primary or a session. */
export function prepare(d1: Pick<D1Database, 'prepare'>, statement: Statement<unknown>): D1PreparedStatement {
  const { sql, params } = statement.toSQL();
  return d1.prepare(sql).bind(...params);
}

/** The values of a statement, or their placeholders while it is built. */
export type Input<Values> = { readonly [Name in keyof Values]: Values[Name] | Placeholder };

/**
 * A statement whose SQL is built at its first use in an isolate, with a placeholder for each value. `build` must not
 * depend on a value, and reads each value from its parameter by name.
 */
export function once<Values extends Record<keyof Values, unknown>, Row = never>(
  build: (db: Database, values: Input<Values>) => Statement<Row>,
): (db: Database, values: Values) => BoundStatement<Row> {
  let built: Query | undefined;
  return (db, values) => {
    built ??= shorten(build(db, placeholders<Values>()).toSQL());
    return new BoundStatement({ sql: built.sql, params: fillPlaceholders(built.params, values) });
  };
}

/**
 * The same SQL with one number for each value, however often it occurs, and with names without quotes, which JSON would
 * escape: each call copies texts and values several times.
 */
function shorten({ sql: text, params }: Query): Query {
  const occurrences = params.map((param) => {
    if (!is(param, Placeholder)) throw new Error('a statement that is built once contains a value');
    return param.name;
  });
  const names = [...new Set(occurrences)];
  let next = 0;
  // Literals stay as they are.
  const shorter = text.replace(/'[^']*'|"|\?|\s+/g, (part) => {
    if (part === '?') return `?${names.indexOf(occurrences[next++] ?? '') + 1}`;
    return part === '"' ? '' : part.startsWith("'") ? part : ' ';
  });
  return { sql: shorter, params: names.map((name) => sql.placeholder(name)) };
}

/** A placeholder for every name that is read. */
function placeholders<Values>(): Input<Values> {
  const named = new Proxy({}, { get: (_, name) => sql.placeholder(String(name)) });
  // The type of a proxy is that of its target, which is empty.
  return named as Input<Values>;
}

/** The fields of a row: columns and expressions. */
export type Fields = Readonly<Record<string, Column | SQL>>;

/** The row that `fields` selects. A template does not tell which of its joins are outer: say `sql<… | null>`. */
export type RowOf<Selection extends Fields> = {
  [Field in keyof Selection]: Selection[Field] extends Column
    ? GetColumnData<Selection[Field]>
    : Selection[Field] extends SQL<infer Value>
      ? Value
      : never;
};

/** A select list for `sql`, in which each field has its own name. */
export const fields = (selection: Fields): SQL =>
  sql.join(
    Object.entries(selection).map(([name, value]) => sql`${value} as ${sql.identifier(name)}`),
    sql`, `,
  );

/** The same for `select` and `returning`: D1 returns the rows of a batch by names, so each needs its own. */
export function named<Selection extends Fields>(
  selection: Selection,
): { [Name in keyof Selection]: SQL.Aliased<RowOf<Selection>[Name]> };
export function named(selection: Fields) {
  return Object.fromEntries(Object.entries(selection).map(([name, value]) => [name, sql`${value}`.as(name)]));
}

/** The values of a new row in the order of the table's columns, for `db.insert(table).select(sql…)`. */
export function valuesFor<Table extends SQLiteTable>(
  table: Table,
  values: {
    readonly [Name in keyof Table['$inferSelect']]: Table['$inferSelect'][Name] | SQLWrapper | Placeholder;
  },
): SQL {
  const byName = new Map<string, unknown>(Object.entries(values));
  return sql.join(
    Object.keys(getTableColumns(table)).map((name) => sql`${byName.get(name)}`),
    sql`, `,
  );
}

/** The value of a column that an insert with a conflict would have set. */
export const excluded = (column: Column): SQL => sql`excluded.${sql.identifier(column.name)}`;

/** The fields of a row as one JSON object, or null if the row of an outer join is missing: then `key` is null. */
export const jsonObject = (selection: Fields, key: Column) =>
  sql<string | null>`iif(${key} is null, null, json_object(${sql.join(
    Object.entries(selection).map(([name, value]) => sql`${sql.raw(`'${name}'`)}, ${value}`),
    sql`, `,
  )}))`;
