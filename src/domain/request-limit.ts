import { inThousands } from '../lib/in-thousands.ts';
import { NumberRing } from '../lib/number-ring.ts';

/** At most `quota` requests in any `windowMs` milliseconds. */
export interface RequestLimit {
  quota: number;
  windowMs: number;
}

/** The decision of a limiter. All times are durations: its clock and the caller's differ. */
export interface RateLimitDecision {
  admitted: boolean;
  remaining: number;
  /** Milliseconds until the oldest counted request leaves the window; 0 if none is counted. */
  resetMs: number;
  /** Milliseconds until the next request can be admitted; 0 while there is room. */
  retryAfterMs: number;
}

export const MAX_QUOTA = 10_000;
/** A Durable Object may lose its memory after 10 idle seconds: a longer window could lose what counts. */
export const MAX_WINDOW_MS = 10_000;

/** Parses a limit such as `200/10s`. @throws RangeError naming the text and the rule */
export function parseRequestLimit(text: string): RequestLimit {
  const match = /^(\d{1,5})\/(\d{1,2})s$/.exec(text);
  const requestLimit = match && { quota: Number(match[1]), windowMs: Number(match[2]) * 1000 };
  if (
    !requestLimit ||
    requestLimit.quota < 1 ||
    requestLimit.quota > MAX_QUOTA ||
    requestLimit.windowMs < 1000 ||
    requestLimit.windowMs > MAX_WINDOW_MS
  ) {
    throw new RangeError(
      `"${text}" is not a rate limit; write quota/window such as "200/10s", quota 1–10000, window 1s–10s`,
    );
  }
  return requestLimit;
}

export function formatRequestLimit({ quota, windowMs }: RequestLimit): string {
  return `${quota}/${windowMs / 1000}s`;
}

export function requestLimitInWords({ quota, windowMs }: RequestLimit): string {
  return `${inThousands(quota)} requests in any ${windowMs / 1000} seconds`;
}

/**
 * A sliding-window log: the times of the admitted requests, oldest first, in a ring buffer.
 *
 * A request is admitted if the request `quota` admissions ago is at least one window old, so no window of that length,
 * wherever it begins, contains more than the quota. The ring keeps everything that a valid limit needs (the last 10 s,
 * at most 10,000 entries), so a limit that changes between two calls applies to the real history.
 */
export class SlidingWindowLog {
  private readonly times = new NumberRing();

  /** Counts one request at `now` (milliseconds), or refuses it. A clock that steps back is held still. */
  take(requestLimit: RequestLimit, now: number): RateLimitDecision {
    const time = heldStill(this.times, now);
    while (oldestHasLeft(this.times, time)) this.times.shift();

    const admitted = hasRoom(this.times, requestLimit, time);
    if (admitted) {
      if (this.times.length === MAX_QUOTA) this.times.shift();
      this.times.push(time);
    }
    return { admitted, ...stateOf(this.times, requestLimit, time) };
  }
}

/** `now`, or the time of the latest admission if the clock has stepped back. */
export function heldStill(times: NumberRing, now: number): number {
  return times.length === 0 ? now : Math.max(now, times.at(times.length - 1));
}

/** Whether the oldest admission is too old for any permitted window. */
export function oldestHasLeft(times: NumberRing, time: number): boolean {
  return times.length > 0 && times.at(0) <= time - MAX_WINDOW_MS;
}

export function hasRoom(times: NumberRing, { quota, windowMs }: RequestLimit, time: number): boolean {
  return countSince(times, time - windowMs) < quota;
}

export function stateOf(
  times: NumberRing,
  { quota, windowMs }: RequestLimit,
  time: number,
): Omit<RateLimitDecision, 'admitted'> {
  const counted = countSince(times, time - windowMs);
  const leavesIn = (index: number) => times.at(index) + windowMs - time;
  return {
    remaining: Math.max(0, quota - counted),
    resetMs: counted === 0 ? 0 : leavesIn(times.length - counted),
    retryAfterMs: counted < quota ? 0 : leavesIn(times.length - quota),
  };
}

/** How many admissions are later than `since`: binary search, since they are in order. */
function countSince(times: NumberRing, since: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times.at(middle) > since) high = middle;
    else low = middle + 1;
  }
  return times.length - low;
}
