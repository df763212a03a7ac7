import { DAY_MS } from '../domain/calendar.ts';
import type { KeyDayUse } from '../services/service-context.ts';
import type { AppliedLimit } from './hono-env.ts';
import type { ProblemArguments } from './problems.ts';

/** The 429 for a limit that refused, as arguments of `problem` or `Problem`. */
export function rateLimited(applied: AppliedLimit): ProblemArguments {
  const wait = retryAfter(applied.decision.retryAfterMs);
  return [
    'rate_limited',
    `${limitInWords(applied)}; send the request again after ${wait} s.`,
    { headers: { 'Retry-After': wait }, members: { 'violated-policies': [applied.name] } },
  ];
}

/** Whose limit it is and what it admits: a sentence without its full stop. */
export function limitInWords({ name, requestLimit, isNetwork }: AppliedLimit): string {
  const subject = name === 'key' ? 'This key' : isNetwork ? 'The network of this IP address' : 'This IP address';
  return `${subject} may send ${requestLimit.quota} requests in ${requestLimit.windowMs / 1000} seconds`;
}

const seconds = (ms: number) => Math.ceil(ms / 1000);

const DAY_SECONDS = DAY_MS / 1000;

/**
 * The RateLimit headers (draft-ietf-httpapi-ratelimit-headers-11), with one item for each limit that is known: quota
 * `q` and window `w` of the limit in seconds, remaining requests or records `r`, and seconds `t` until there are more.
 */
export function rateLimitFields(
  applied: AppliedLimit | undefined,
  keyDay: KeyDayUse | undefined,
): Record<string, string> {
  const policies: string[] = [];
  const states: string[] = [];
  if (applied) {
    const { name, requestLimit, decision } = applied;
    policies.push(`"${name}";q=${requestLimit.quota};w=${seconds(requestLimit.windowMs)}`);
    states.push(`"${name}";r=${decision.remaining};t=${seconds(decision.resetMs)}`);
  }
  if (keyDay) {
    const { quota, used, resetMs } = keyDay;
    policies.push(`"key-day";q=${quota};w=${DAY_SECONDS}`);
    states.push(`"key-day";r=${Math.max(0, quota - used)};t=${seconds(resetMs)}`);
  }
  return policies.length === 0 ? {} : { 'RateLimit-Policy': policies.join(', '), RateLimit: states.join(', ') };
}

/** Retry-After in whole seconds, at least 1 (RFC 9110 §10.2.3). */
export function retryAfter(ms: number): string {
  return String(Math.max(1, seconds(ms)));
}
