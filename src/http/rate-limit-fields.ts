import type { AppliedLimit } from '../env.ts';

const seconds = (ms: number) => Math.ceil(ms / 1000);

/**
 * The RateLimit header fields (draft-ietf-httpapi-ratelimit-headers): of the policy the quota `q` and window `w`, of its present state
 * the requests that remain, `r`, and `t`, the seconds until the oldest counted request leaves the window and its place comes back.
 */
export function rateLimitFields({ name, policy, decision }: AppliedLimit): Record<string, string> {
  return {
    'RateLimit-Policy': `"${name}";q=${policy.quota};w=${seconds(policy.windowMs)}`,
    RateLimit: `"${name}";r=${decision.remaining};t=${seconds(decision.resetMs)}`,
  };
}

/** Retry-After in whole seconds, at least 1 (RFC 9110 §10.2.3). */
export function retryAfter(ms: number): string {
  return String(Math.max(1, seconds(ms)));
}
