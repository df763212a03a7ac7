import type { Change } from '../../domain/change.ts';
import { ATTEMPT_TIMEOUT_MS } from '../../domain/post-outcome.ts';
import { sha256 } from '../../lib/bytes.ts';
import type { PostedMessage } from '../../services/post.ts';
import { MAX_CHANGES } from '../../services/work/list-changes.ts';

export const MAX_BODY_BYTES = 512 * 1024;
/** More than everything in a body except its changes. */
const ENVELOPE_BYTES = 1024;
/** A page may grow until it is sent again: a key is renamed or revoked, or a short text redacted. */
const GROWTH_BYTES = 64 * 1024;

/** How large the changes of a page may be as JSON when it is read for the first time. */
export const NEW_PAGE_BYTES = MAX_BODY_BYTES - ENVELOPE_BYTES - GROWTH_BYTES;
/** How large they may be when the page is sent again. */
export const REPEATED_PAGE_BYTES = MAX_BODY_BYTES - ENVELOPE_BYTES;

const FIRST_BACKOFF_MS = 10_000;
const MAX_BACKOFF_MS = 60 * 60_000;
/** After this time without success, a failure is an error in the log. */
const ERROR_AFTER_MS = 10 * 60_000;

/** How many changes a page may have after one with `count` changes was too large for the receiver. */
export const smallerLimit = (count: number): number => Math.max(1, Math.floor(count / 2));

/** A page grows only if twice as many changes would have been confirmed in time. */
export function grownLimit(limit: number, count: number, ms: number): number {
  return 2 * ms < ATTEMPT_TIMEOUT_MS ? Math.min(Math.max(limit, 2 * count), MAX_CHANGES) : limit;
}

/** The id comes from organization, first `seq` and last cursor: the receiver recognizes a page that it has. */
export async function pushMessage(
  organization: string,
  changes: readonly Change[],
  at: number,
): Promise<PostedMessage> {
  const [first, last] = [changes[0], changes.at(-1)];
  if (!first || !last) throw new RangeError('a page without changes is not sent');
  const digest = await sha256(JSON.stringify([organization, first.seq, last.cursor]));
  const body = JSON.stringify({
    type: 'work.changes',
    timestamp: new Date(at).toISOString(),
    data: { organization, changes, cursor: last.cursor },
  });
  return { id: `page_${digest.slice(0, 16).toHex()}`, at, body };
}

/** 5 to 10 s after the first failure, doubled up to 30 to 60 min; `random` (0 to 1) spreads the organizations. */
export function backoffMs(attempts: number, random: number): number {
  const longest = Math.min(FIRST_BACKOFF_MS * 2 ** (attempts - 1), MAX_BACKOFF_MS);
  return Math.round(longest * (0.5 + random / 2));
}

export interface PushFailure {
  /** When the first of these attempts failed, in UTC milliseconds. */
  since: number;
  /** How many failed: since the first one, since an operator's order, or since the page became smaller. */
  attempts: number;
  /** The last failure in words, such as `HTTP 500`. */
  failure: string;
  /** Null: immediately, or never while the push is stopped. */
  nextAttemptAt: number | null;
}

export function afterFailure(
  before: PushFailure | null,
  { failure, retryAfterMs }: { failure: string; retryAfterMs: number },
  now: number,
  random: number,
): PushFailure & { nextAttemptAt: number } {
  const attempts = (before?.attempts ?? 0) + 1;
  const since = before?.since ?? now;
  return { since, attempts, failure, nextAttemptAt: now + Math.max(backoffMs(attempts, random), retryAfterMs) };
}

/** Whether the log shows a failure as an error: it lasts long, or the receiver asks for a pause of that length. */
export const isLongFailure = (since: number, { retryAfterMs }: { retryAfterMs: number }, now: number): boolean =>
  Math.max(now - since, retryAfterMs) >= ERROR_AFTER_MS;
