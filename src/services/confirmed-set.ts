/** How many members of a set one transaction changes. */
const BATCH_SIZE = 100;

/** What became of a set of ids that an administrator confirmed. */
export interface ConfirmedSet {
  confirmed: readonly string[];
  /** The members that this call changed. */
  done: readonly string[];
  /** The members of the transaction that failed and of those after it, and why it failed. */
  failed: readonly string[];
  cause?: unknown;
}

/**
 * Changes all members of a confirmed set and nothing else, in as many transactions as needed. `change` changes some of
 * them in one transaction and returns those that it changed. The error of the first transaction is thrown.
 */
export async function changeConfirmed(
  ids: readonly string[],
  change: (some: readonly string[]) => Promise<readonly string[]>,
): Promise<ConfirmedSet> {
  const confirmed = [...new Set(ids)];
  const done: string[] = [];
  for (let start = 0; start < confirmed.length; start += BATCH_SIZE) {
    try {
      done.push(...(await change(confirmed.slice(start, start + BATCH_SIZE))));
    } catch (cause) {
      if (start === 0) throw cause;
      return { confirmed, done, failed: confirmed.slice(start), cause };
    }
  }
  return { confirmed, done, failed: [] };
}
