/** The size of each database in bytes, as its latest result reported it. */
const sizes = new WeakMap<D1Database, number>();

/** Remembers the size that a result of the database reports, and returns the result. */
export function withSizeNoted<Result extends D1Result<unknown>>(db: D1Database, result: Result): Result {
  sizes.set(db, result.meta.size_after);
  return result;
}

/** The size of the database in bytes, or undefined before its first result in this isolate. */
export function latestSize(db: D1Database): number | undefined {
  return sizes.get(db);
}
