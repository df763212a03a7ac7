/** After this time without a confirmation, administrators see that the push is failing. */
export const FAILING_MS = 5 * 60_000;

/** What keeps the changes of an organization from its PSA. Times are UTC milliseconds. */
export interface PushTrouble {
  failingSince: number | null;
  /** The last failure in words, such as `HTTP 500`. */
  failure: string | null;
  stoppedAt: number | null;
}

/** What keeps the changes from the PSA, if it has lasted long enough to report. */
export function troubleOf({ failingSince, failure, stoppedAt }: PushTrouble, now: number): PushTrouble | undefined {
  const isLasting = stoppedAt !== null || (failingSince !== null && now - failingSince >= FAILING_MS);
  return isLasting ? { failingSince, failure, stoppedAt } : undefined;
}
