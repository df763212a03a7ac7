import { drizzle } from 'drizzle-orm/d1';
import { findKeyByHash } from '../../src/db/keys/find-key-statements.ts';
import { prepare } from '../../src/db/query.ts';

/** A call of D1. */
interface D1Call {
  statements: number;
  sql: readonly string[];
  rowsRead: number;
  rowsWritten: number;
  /** It was a session, and a replica answered. */
  replica?: true;
}

type Run = () => Promise<D1Result[]>;

type Around = (run: Run, statements: number, sql: readonly string[], isNearby: boolean) => Promise<D1Result[]>;

/** SQL as tests name it: without quotes around names. */
const shown = (sql: string) => sql.replaceAll('"', '').trim();

/**
 * The database with every call passed through `around`, which gets the number of statements and
 * their SQL, and whether it is made in a session, which the nearest copy answers. It calls `run` and
 * returns its results, or fails before or after that.
 */
export function aroundD1(db: D1Database, around: Around): D1Database {
  const texts = new WeakMap<D1PreparedStatement, string>();
  const originals = new WeakMap<D1PreparedStatement, D1PreparedStatement>();
  const original = (statement: D1PreparedStatement) => originals.get(statement) ?? statement;

  const wrap = (statement: D1PreparedStatement, sql: string, isNearby: boolean): D1PreparedStatement => {
    const single = async () => {
      const [result] = await around(async () => [await statement.all()], 1, [sql], isNearby);
      if (!result) throw new Error('around returned no result');
      return result;
    };
    const wrapped = new Proxy(statement, {
      get(target, property) {
        if (property === 'bind') return (...values: unknown[]) => wrap(target.bind(...values), sql, isNearby);
        if (property === 'first') return async () => (await single()).results[0] ?? null;
        if (property === 'all' || property === 'run') return single;
        // The columns of a query have names of their own.
        if (property === 'raw') return async () => (await single()).results.map((row) => Object.values(row ?? {}));
        throw new Error(`aroundD1 does not know ${String(property)}`);
      },
    });
    originals.set(wrapped, statement);
    texts.set(wrapped, sql);
    return wrapped;
  };

  return new Proxy(db, {
    get(target, property) {
      if (property === 'prepare') return (sql: string) => wrap(target.prepare(sql), shown(sql), false);
      if (property === 'batch')
        return (statements: D1PreparedStatement[]) => {
          const sql = statements.map((statement) => texts.get(statement) ?? '');
          return around(() => target.batch(statements.map(original)), statements.length, sql, false);
        };
      if (property === 'withSession')
        return (constraint: D1SessionConstraint) => {
          const session = target.withSession(constraint);
          return { prepare: (sql: string) => wrap(session.prepare(sql), shown(sql), true) };
        };
      throw new Error(`aroundD1 does not know ${String(property)}`);
    },
  });
}

/** The region of a replica in the tests. */
export const REPLICA_REGION = 'ENAM';

/**
 * The database with a read replica that is nearer, and behind: it has the keys of some organizations
 * as they were at the last `catchUp`, and no others. It answers nothing but lookups of keys. It fails
 * if it has an `error`. If it `isSilent`, D1 does not say where it answered.
 */
export function withReplica(db: D1Database) {
  let keys = new Map<unknown, D1Result>();
  const lookup = findKeyByHash(drizzle(db), { hash: '' }).toSQL().sql;
  const replica = {
    db,
    isSilent: false,
    error: undefined as Error | undefined,
    catchUp: async (...organizations: string[]) => {
      const { results } = await db
        .prepare(`select hash from api_keys where organization_id in (select value from json_each(?))`)
        .bind(JSON.stringify(organizations))
        .all<{ hash: string }>();
      const found = results.map(
        async ({ hash }) => [hash, await prepare(db, findKeyByHash(drizzle(db), { hash })).all()] as const,
      );
      keys = new Map(await Promise.all(found));
    },
  };
  const session = (statement: D1PreparedStatement, hash?: unknown): D1PreparedStatement =>
    new Proxy(statement, {
      get(target, property) {
        if (property === 'bind') return (value: unknown) => session(target, value);
        if (property !== 'all') throw new Error(`a replica does not know ${String(property)}`);
        return async () => {
          if (replica.error) throw replica.error;
          // A hash that no key has.
          const result = keys.get(hash) ?? (await target.bind('').all());
          const { served_by_primary, ...meta } = result.meta;
          const place = { served_by_primary: false, served_by_region: REPLICA_REGION };
          return { ...result, meta: replica.isSilent ? meta : { ...meta, ...place } };
        };
      },
    });
  replica.db = new Proxy(db, {
    get(target, property) {
      if (property === 'prepare') return (sql: string) => target.prepare(sql);
      if (property === 'batch') return (statements: D1PreparedStatement[]) => target.batch(statements);
      if (property === 'withSession')
        return (constraint: D1SessionConstraint) => {
          if (constraint !== 'first-unconstrained') throw new Error(`the session begins at ${constraint}`);
          return {
            prepare: (sql: string) => {
              if (sql !== lookup) throw new Error(`a replica reads keys only, and not: ${sql}`);
              return session(target.prepare(sql));
            },
          };
        };
      throw new Error(`withReplica does not know ${String(property)}`);
    },
  });
  return replica;
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
  const counted = aroundD1(db, async (run, statements, sql) => {
    const results = await run();
    const sum = (meta: 'rows_read' | 'rows_written') => results.reduce((total, result) => total + result.meta[meta], 0);
    const isReplica = results.some(({ meta }) => meta.served_by_primary === false);
    calls.push({
      ...{ statements, sql },
      rowsRead: sum('rows_read'),
      rowsWritten: sum('rows_written'),
      ...(isReplica ? { replica: true } : {}),
    });
    return results;
  });
  return { db: counted, calls };
}
