import * as z from 'zod';

const meta = z.looseObject({
  duration: z.number().default(0),
  size_after: z.number().default(0),
  rows_read: z.number().default(0),
  rows_written: z.number().default(0),
  last_row_id: z.number().default(0),
  changed_db: z.boolean().default(false),
  changes: z.number().default(0),
});

/** The results of a batch, as JSON has them. The statements alone know the columns of their rows. */
export const resultsOf = <T>() =>
  z.array(z.object({ success: z.literal(true), meta, results: z.array(z.custom<T>()).default([]) }));

/** A statement as it is sent: its text and its parameters. */
export type SentStatement = Pick<SentD1Statement, 'sql' | 'params'>;

/**
 * A D1 database as the binding that Workers have, outside of a Worker: it is sent batches of statements, each of which
 * is one transaction.
 */
export abstract class SentD1 implements D1Database {
  protected abstract send<T>(batch: readonly SentStatement[]): Promise<D1Result<T>[]>;

  prepare(sql: string): SentD1Statement {
    return new SentD1Statement(this, sql, []);
  }

  batch<T>(statements: D1PreparedStatement[]): Promise<D1Result<T>[]> {
    return this.send<T>(
      statements.map((statement) => {
        if (!(statement instanceof SentD1Statement)) throw new TypeError('a statement of another database');
        return { sql: statement.sql, params: statement.params };
      }),
    );
  }

  exec = unsupported('exec');
  withSession = unsupported('withSession');
  dump = unsupported('dump');
}

class SentD1Statement implements D1PreparedStatement {
  private readonly db: SentD1;
  readonly sql: string;
  readonly params: readonly unknown[];
  constructor(db: SentD1, sql: string, params: readonly unknown[]) {
    this.db = db;
    this.sql = sql;
    this.params = params;
  }

  bind(...params: unknown[]): SentD1Statement {
    return new SentD1Statement(this.db, this.sql, params);
  }

  async all<T>(): Promise<D1Result<T>> {
    const [result] = await this.db.batch<T>([this]);
    if (!result) throw new Error('the database gave no result');
    return result;
  }

  run<T>(): Promise<D1Result<T>> {
    return this.all<T>();
  }

  async first<T>(column?: string): Promise<T | null> {
    if (column === undefined) return (await this.all<T>()).results[0] ?? null;
    return (await this.all<Record<string, T>>()).results[0]?.[column] ?? null;
  }

  /** The columns of a query have names of their own, so its rows are objects on the way. */
  raw<T = unknown[]>(options: { columnNames: true }): Promise<[string[], ...T[]]>;
  raw<T = unknown[]>(options?: { columnNames?: false }): Promise<T[]>;
  async raw(options?: { columnNames?: boolean }): Promise<unknown[]> {
    if (options?.columnNames) throw new Error('raw with the names of columns is not supported here');
    return (await this.all<object>()).results.map((row) => Object.values(row));
  }
}

function unsupported(method: string): () => never {
  return () => {
    throw new Error(`${method} is not supported here`);
  };
}
