import type { BoundStatement } from '../../src/db/statement.ts';

// What a statement may return, in words: `number | null` for a column that is declared so. The columns
// that D1 returned are in returned-columns.ts, and have to satisfy these types.

type InWords<Value> = Value extends null
  ? 'null'
  : Value extends number
    ? 'number'
    : Value extends string
      ? 'string'
      : never;
type OneOrTwo<Words extends string> = Words | `${Words} | ${Words}`;

/** The columns of a union of rows: one that a row of it does not have is null in that row. */
type ColumnOf<Row> = Row extends unknown ? keyof Row : never;
type ValueOf<Row, Column> = Row extends unknown ? (Column extends keyof Row ? Row[Column] : null) : never;

type Columns<Row> = { readonly [Column in ColumnOf<Row>]: OneOrTwo<InWords<ValueOf<Row, Column>>> };

/** The columns of each statement that a module exports: as itself, or in a list or record of statements. */
export type ReturnedColumns<Exports> = {
  readonly [Name in keyof Exports]?: NonNullable<Exports[Name]> extends {
    bind(values: never): BoundStatement<infer Row>;
  }
    ? Columns<Row>
    : ReturnedColumns<Exports[Name]>;
};
