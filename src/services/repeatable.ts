import { D1Failure } from '../db/client.ts';
import { Refusal } from '../domain/refusal.ts';

/**
 * Runs calls to the database that may be repeated without harm.
 * @throws Refusal `unavailable` where the database did not answer, though it may have done what it was asked.
 */
export function repeatable<T>(run: () => Promise<T>): Promise<T> {
  return run().catch((err: unknown) => {
    if (!(err instanceof D1Failure) || err.kind === 'rejected') throw err;
    throw new Refusal('unavailable', 'The database did not answer. Make the same call again; repeating it does no harm.', { cause: err });
  });
}
