/** One call that reached D1: how many statements it carried and what they read and wrote. */
export interface D1Call {
  statements: number;
  rowsRead: number;
  rowsWritten: number;
}

type Run = () => Promise<D1Result[]>;

/**
 * The database with every call passed through `around`, which may count it, fail it before or after it has run, or change things in
 * between. It must answer with the results of `run`.
 */
export function aroundD1(db: D1Database, around: (run: Run, statements: number) => Promise<D1Result[]>): D1Database {
  const originals = new WeakMap<D1PreparedStatement, D1PreparedStatement>();
  const original = (statement: D1PreparedStatement) => originals.get(statement) ?? statement;

  const wrap = (statement: D1PreparedStatement): D1PreparedStatement => {
    const single = async () => {
      const [result] = await around(async () => [await statement.all()], 1);
      if (!result) throw new Error('around gave no result');
      return result;
    };
    const wrapped = new Proxy(statement, {
      get(target, property) {
        if (property === 'bind') return (...values: unknown[]) => wrap(target.bind(...values));
        if (property === 'first') return async () => (await single()).results[0] ?? null;
        if (property === 'all' || property === 'run') return single;
        throw new Error(`aroundD1 does not know ${String(property)}`);
      },
    });
    originals.set(wrapped, statement);
    return wrapped;
  };

  return new Proxy(db, {
    get(target, property) {
      if (property === 'prepare') return (sql: string) => wrap(target.prepare(sql));
      if (property === 'batch')
        return (statements: D1PreparedStatement[]) => around(() => target.batch(statements.map(original)), statements.length);
      throw new Error(`aroundD1 does not know ${String(property)}`);
    },
  });
}

/** The database and the calls made to it, as a growing list. */
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
