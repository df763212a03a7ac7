import { type SQL, sql } from 'drizzle-orm';

type Bindable = string | number | null;

/** A statement with its parameters bound; `Row` is a row it returns. */
export interface BoundStatement<Row> {
  toSQL(): { sql: string; params: Bindable[] };
  /** The statement in parentheses, for a statement of Drizzle. */
  toSubquery(): SQL;
  prepare(db: D1Database): D1PreparedStatement;
  all(db: D1Database): Promise<D1Result<Row>>;
  /**
   * Runs the statement on the nearest copy of the database: the primary or, with read replication, a
   * replica, which may be behind by any time. `meta.served_by_primary` says which.
   */
  allNearby(db: D1Database): Promise<D1Result<Row>>;
}

/** SQL text with named parameters: `Values` are the parameters, `Row` is a row it returns. */
export interface Statement<Values, Row = never> {
  readonly text: string;
  bind(values: Values): BoundStatement<Row>;
}

/** Matches a string literal (left as is), a named parameter such as `:organizationId`, or white space. */
const TOKEN = /'[^']*'|:([A-Za-z]\w*)|\s+/g;

/** A statement with named parameters, which D1 does not support. Parsed at its first use: isolates start faster. */
export function statement<Values extends Record<keyof Values, Bindable>, Row = never>(
  text: string,
): Statement<Values, Row> {
  let numbered: ReturnType<typeof numberParameters> | undefined;
  return {
    text,
    bind: (values) => {
      numbered ??= numberParameters(text);
      return boundTo<Row>(numbered.sql, valuesOf(values, numbered.names), () => toSubquery(text, values));
    },
  };
}

/** SQL on one line, with parameters that are numbered by their first use, and their names in that order. */
export function numberParameters(text: string) {
  const names: string[] = [];
  const sql = text.replaceAll(TOKEN, (match, name?: string) => {
    if (name === undefined) return match.startsWith("'") ? match : ' ';
    if (!names.includes(name)) names.push(name);
    return `?${names.indexOf(name) + 1}`;
  });
  return { sql, names };
}

function valuesOf(values: Record<string, Bindable>, names: readonly string[]): Bindable[] {
  return names.map((name) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no value for :${name}`);
    return value;
  });
}

function toSubquery(text: string, values: Record<string, Bindable>): SQL {
  const chunks: SQL[] = [];
  let end = 0;
  for (const { 0: match, 1: name, index } of text.matchAll(TOKEN)) {
    if (name === undefined) continue;
    chunks.push(sql.raw(text.slice(end, index)), sql`${values[name]}`);
    end = index + match.length;
  }
  return sql`(${sql.join([...chunks, sql.raw(text.slice(end))])})`;
}

function boundTo<Row>(sql: string, values: readonly Bindable[], subquery: () => SQL): BoundStatement<Row> {
  const prepare = (db: Pick<D1Database, 'prepare'>) => db.prepare(sql).bind(...values);
  return {
    toSQL: () => ({ sql, params: [...values] }),
    toSubquery: subquery,
    prepare,
    all: async (db) => withSizeNoted(db, await prepare(db).all<Row>()),
    allNearby: async (db) => withSizeNoted(db, await prepare(db.withSession('first-unconstrained')).all<Row>()),
  };
}

/** The SQL expression of a column, and as a type what it returns. */
interface Column<Value> {
  readonly sql: string;
  readonly returns?: Value;
}

export const text = <Value extends string = string>(sql: string): Column<Value> => ({ sql });
export const textOrNull = <Value extends string = string>(sql: string): Column<Value | null> => ({ sql });
export const number = (sql: string): Column<number> => ({ sql });
export const numberOrNull = (sql: string): Column<number | null> => ({ sql });

/** The row of a select list. */
export type RowOf<Columns extends Readonly<Record<string, Column<unknown>>>> = {
  [Field in keyof Columns]: Columns[Field] extends Column<infer Value> ? Value : never;
};

/** The SQL expression for each field of a row. A missing field does not compile. */
export type Fields<Row> = Readonly<Record<keyof Row & string, string>>;

/** The select list for a row. `alias` is the table of its columns, unless they name one. */
export function columns<Row>(fields: Fields<Row> | Readonly<Record<string, Column<unknown>>>, alias?: string): string {
  return Object.entries<string | Column<unknown>>(fields)
    .map(([field, column]) => {
      const expression = typeof column === 'string' ? column : column.sql;
      return `${alias === undefined ? expression : `${alias}.${expression}`} as ${field}`;
    })
    .join(', ');
}

/** A row as one JSON object, or null if the row of an outer join is missing. */
export function jsonObject(fields: Readonly<Record<string, string>>, alias: string): string {
  const pairs = Object.entries(fields).map(([field, column]) => `'${field}', ${alias}.${column}`);
  return `iif(${alias}.organization_id is null, null, json_object(${pairs.join(', ')}))`;
}

/** `insert into … select …` from pairs, so that columns and expressions stay in the same order. */
export function insertInto(table: string, expressions: Readonly<Record<string, string>>): string {
  return `insert into ${table} (${Object.keys(expressions).join(', ')}) select ${Object.values(expressions).join(', ')}`;
}

/** The size of each database in bytes, as its latest result reported it. */
const sizes = new WeakMap<D1Database, number>();

/** Notes the size of the database that a result reports. */
export function withSizeNoted<Result extends D1Result<unknown>>(db: D1Database, result: Result): Result {
  sizes.set(db, result.meta.size_after);
  return result;
}

/** The size of the database in bytes, or undefined before its first result in this isolate. */
export function latestSize(db: D1Database): number | undefined {
  return sizes.get(db);
}
