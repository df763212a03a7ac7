import { unavailable } from './unavailable.ts';

const UNCERTAIN = 'The database did not answer. Make the same call again; repeating it does no harm.';

/**
 * Runs calls to the database that may be repeated without harm.
 * @throws Refusal `unavailable` where the database did not answer, though it may have done what it was asked.
 */
export function repeatable<T>(run: () => Promise<T>): Promise<T> {
  return run().catch((err: unknown) => {
    throw unavailable(err, UNCERTAIN);
  });
}
