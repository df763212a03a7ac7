/** A call of D1. */
export interface D1Call {
  statements: number;
  rowsRead: number;
  rowsWritten: number;
}

type Run = () => Promise<D1Result[]>;

/**
 * The database with every call passed through `around`, which gets the number of statements and
 * their SQL. It calls `run` and returns its results, or fails before or after that.
 */
export function aroundD1(
  db: D1Database,
  around: (run: Run, statements: number, sql: readonly string[]) => Promise<D1Result[]>,
): D1Database {
  const texts = new WeakMap<D1PreparedStatement, string>();
  const originals = new WeakMap<D1PreparedStatement, D1PreparedStatement>();
  const original = (statement: D1PreparedStatement) => originals.get(statement) ?? statement;

  const wrap = (statement: D1PreparedStatement, sql: string): D1PreparedStatement => {
    const single = async () => {
      const [result] = await around(async () => [await statement.all()], 1, [sql]);
      if (!result) throw new Error('around returned no result');
      return result;
    };
    const wrapped = new Proxy(statement, {
      get(target, property) {
        if (property === 'bind') return (...values: unknown[]) => wrap(target.bind(...values), sql);
        if (property === 'first') return async () => (await single()).results[0] ?? null;
        if (property === 'all' || property === 'run') return single;
        throw new Error(`aroundD1 does not know ${String(property)}`);
      },
    });
    originals.set(wrapped, statement);
    texts.set(wrapped, sql);
    return wrapped;
  };

  return new Proxy(db, {
    get(target, property) {
      if (property === 'prepare') return (sql: string) => wrap(target.prepare(sql), sql);
      if (property === 'batch')
        return (statements: D1PreparedStatement[]) => {
          const sql = statements.map((statement) => texts.get(statement) ?? '');
          return around(() => target.batch(statements.map(original)), statements.length, sql);
        };
      throw new Error(`aroundD1 does not know ${String(property)}`);
    },
  });
}

/** The database when it is full or read-only: calls that write fail with this message. */
export function withoutWrites(db: D1Database, message: string): D1Database {
  return aroundD1(db, (run, _, sql) => {
    if (sql.some((text) => /^\s*(?:insert|update|delete|replace)\b/i.test(text)))
      return Promise.reject(new Error(message));
    return run();
  });
}

/** The database, which reports the size that `bytes` returns. */
export function reportingSize(db: D1Database, bytes: () => number): D1Database {
  return aroundD1(db, async (run) =>
    (await run()).map((result) => ({ ...result, meta: { ...result.meta, size_after: bytes() } })),
  );
}

/** The database with every transaction committed twice, as after a lost acknowledgement. */
export function committingTwice(db: D1Database): D1Database {
  return aroundD1(db, async (run, statements) => {
    if (statements > 1) await run();
    return run();
  });
}

/** The database, and a growing list of its calls. */
export function countD1(db: D1Database): { db: D1Database; calls: D1Call[] } {
  const calls: D1Call[] = [];
  const counted = aroundD1(db, async (run, statements) => {
    const results = await run();
    const sum = (meta: 'rows_read' | 'rows_written') => results.reduce((total, result) => total + result.meta[meta], 0);
    calls.push({ statements, rowsRead: sum('rows_read'), rowsWritten: sum('rows_written') });
    return results;
  });
  return { db: counted, calls };
}
