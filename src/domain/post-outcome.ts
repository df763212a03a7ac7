// The meaning of a response to a message that this service posts.

/** How long a receiver may take to respond. */
export const ATTEMPT_TIMEOUT_MS = 15_000;
const MAX_RETRY_AFTER_MS = 24 * 60 * 60_000;

/**
 * The outcome of posting a message. `failure` is in words, without anything that the receiver wrote. `isTooLarge`: the
 * receiver did not respond in time, or refused the size, so a smaller message may succeed.
 */
export type PostOutcome =
  | { result: 'confirmed' }
  /** The receiver wants no more messages of this organization until an operator resumes them. */
  | { result: 'gone'; failure: string }
  | { result: 'failed'; failure: string; retryAfterMs: number; isTooLarge: boolean };

/** Statuses that a smaller message may avoid: Request Timeout, Content Too Large, Gateway Timeout, Cloudflare's timeout. */
const TOO_LARGE = [408, 413, 504, 524];

/** The meaning of a response: only 2xx confirms. A redirect is a failure, because it is not followed. */
export function outcomeOf(status: number, retryAfter: string | null, now: number): PostOutcome {
  if (status >= 200 && status <= 299) return { result: 'confirmed' };
  const failure = `HTTP ${status}`;
  if (status === 410) return { result: 'gone', failure };
  const retryAfterMs = parseRetryAfter(retryAfter, now);
  return { result: 'failed', failure, retryAfterMs, isTooLarge: TOO_LARGE.includes(status) };
}

/** The milliseconds of a Retry-After (RFC 9110 §10.2.3), at most 24 hours; 0 if it is missing or invalid. */
export function parseRetryAfter(text: string | null, now: number): number {
  const value = text?.trim() ?? '';
  const ms = /^\d{1,12}$/.test(value) ? Number(value) * 1000 : isHttpDate(value) ? Date.parse(value) - now : 0;
  return Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
}

/** `Date.parse` reads much more than HTTP dates, and some of it in the local time zone. */
const isHttpDate = (text: string) =>
  /^[A-Z][a-z]{2,8}, .*\d{2}:\d{2}:\d{2} GMT$/.test(text) && !Number.isNaN(Date.parse(text));
