import { inThousands } from '../lib/in-thousands.ts';

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
