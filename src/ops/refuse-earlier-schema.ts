import { D1Failure, runD1 } from '../db/run-d1.ts';
import { CommandFailure } from './failures.ts';
import { RemoteD1 } from './remote-d1.ts';

/** The first migration of before 1.0. Those migrations are gone, and no later one applies to their schema. */
const FIRST_BEFORE_1_0 = '0000_foundation.sql';
const DEADLINE_MS = 60_000;
const NEW_DATABASE = 'Create a new database (src/ops/deploy.md), and import the directory again.';

/** @throws CommandFailure if a database was created before 1.0; `advice` says what to do */
export async function refuseEarlierSchema(db: D1Database, advice = NEW_DATABASE): Promise<void> {
  const find = db.prepare('select name from d1_migrations where name = ?').bind(FIRST_BEFORE_1_0);
  const caller = { deadlineAt: Date.now() + DEADLINE_MS, waitsForLock: !(db instanceof RemoteD1) };
  const found = await runD1(caller, () => find.all()).catch((err: unknown) => {
    // An empty database.
    if (err instanceof D1Failure && err.reason === 'no such table') return { results: [] };
    throw err;
  });
  if (found.results.length > 0)
    throw new CommandFailure(
      `This database was created before 1.0, and its schema cannot be migrated. Nothing was changed. ${advice}`,
    );
}
