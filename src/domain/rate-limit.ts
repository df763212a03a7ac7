/** At most `quota` requests in any `windowMs` milliseconds. */
export interface RateLimitPolicy {
  quota: number;
  windowMs: number;
}

/** What a limiter answers. All times are durations: its clock and the caller's differ. */
export interface RateLimitDecision {
  admitted: boolean;
  /** How many more requests would be admitted right now. */
  remaining: number;
  /** Milliseconds until the oldest counted request leaves the window and its place comes back; 0 when none is counted. */
  resetMs: number;
  /** Milliseconds until the next request can be admitted; 0 while there is room. */
  retryAfterMs: number;
}

export const MAX_QUOTA = 10_000;
/** A Durable Object may lose its memory after 10 idle seconds. What a window of at most that has forgotten had already left it. */
export const MAX_WINDOW_MS = 10_000;

/**
 * Reads a policy written as `quota/window`, such as `200/10s`: quota 1–10000, window 1s–10s in whole seconds.
 * @throws RangeError naming what was written and the rule.
 */
export function parsePolicy(text: string): RateLimitPolicy {
  const match = /^(\d{1,5})\/(\d{1,2})s$/.exec(text);
  const policy = match && { quota: Number(match[1]), windowMs: Number(match[2]) * 1000 };
  if (
    !policy ||
    policy.quota < 1 ||
    policy.quota > MAX_QUOTA ||
    policy.windowMs < 1000 ||
    policy.windowMs > MAX_WINDOW_MS
  ) {
    throw new RangeError(
      `"${text}" is not a rate limit; write quota/window such as "200/10s", quota 1–10000, window 1s–10s`,
    );
  }
  return policy;
}

/** The inverse of `parsePolicy`. */
export function formatPolicy({ quota, windowMs }: RateLimitPolicy): string {
  return `${quota}/${windowMs / 1000}s`;
}

/** Of a key's own policy, if it has one, and the deployment's, the one that lets fewer requests pass in the long run. */
export function stricter(own: RateLimitPolicy | null, deployment: RateLimitPolicy): RateLimitPolicy {
  return own && own.quota / own.windowMs <= deployment.quota / deployment.windowMs ? own : deployment;
}

/**
 * The sliding-window log: the times of the requests that were admitted, oldest first, in a ring.
 *
 * A request is admitted if the one `quota` admissions ago lies at least a window back, so no window of that length, wherever
 * it begins, ever holds more than the quota. The ring keeps everything a permitted policy could ask about (the last 10 s, at
 * most 10,000 entries), so a policy that changes between two calls is applied to what really happened.
 */
export class SlidingWindowLog {
  private ring = new Float64Array(16);
  private start = 0;
  private length = 0;

  /** Asks for one request at `now` (milliseconds of any one clock; a clock that steps back is held still). */
  take({ quota, windowMs }: RateLimitPolicy, now: number): RateLimitDecision {
    const time = this.length === 0 ? now : Math.max(now, this.at(this.length - 1));
    while (this.length > 0 && this.at(0) <= time - MAX_WINDOW_MS) this.dropOldest();

    const admitted = this.countSince(time - windowMs) < quota;
    if (admitted) this.append(time);

    const counted = this.countSince(time - windowMs);
    const leavesIn = (index: number) => this.at(index) + windowMs - time;
    return {
      admitted,
      remaining: Math.max(0, quota - counted),
      resetMs: counted === 0 ? 0 : leavesIn(this.length - counted),
      retryAfterMs: counted < quota ? 0 : leavesIn(this.length - quota),
    };
  }

  /** How many entries are later than `time`: binary search, since the ring is in order. */
  private countSince(time: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at(middle) > time) high = middle;
      else low = middle + 1;
    }
    return this.length - low;
  }

  private at(index: number): number {
    const time = this.ring[(this.start + index) % this.ring.length];
    if (time === undefined) throw new RangeError(`no entry ${index}`);
    return time;
  }

  private append(time: number): void {
    if (this.length === MAX_QUOTA) this.dropOldest();
    if (this.length === this.ring.length) this.grow();
    this.ring[(this.start + this.length) % this.ring.length] = time;
    this.length += 1;
  }

  private dropOldest(): void {
    this.start = (this.start + 1) % this.ring.length;
    this.length -= 1;
  }

  private grow(): void {
    const larger = new Float64Array(this.ring.length * 2);
    for (let i = 0; i < this.length; i++) larger[i] = this.at(i);
    this.ring = larger;
    this.start = 0;
  }
}
