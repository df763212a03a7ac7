import type { RateLimitDecision, RateLimitPolicy } from '../domain/rate-limit.ts';
import { withDeadline } from '../lib/deadline.ts';
import { log } from '../lib/log.ts';
import type { AppEnv, AppliedLimit, ContextOf } from './context.ts';
import type { Problem } from './problems.ts';

/** How long a request waits for a limiter, both attempts together. */
const LIMITER_DEADLINE_MS = 1_000;
/** How long callers wait for an overloaded limiter object. */
const OVERLOADED_RETRY_MS = 1_000;

/** Takes one request from the limit of an address group or a key. Undefined if the limiter could not be reached: the request passes. */
export async function takeFromLimit(
  c: ContextOf<AppEnv>,
  name: AppliedLimit['name'],
  subject: string,
  policy: RateLimitPolicy,
): Promise<AppliedLimit | undefined> {
  // An object that has refused would refuse again until the time it named, so a flood is answered from here. That time is counted from
  // before the request was sent: what is refused here, the object would have refused too.
  const asked = Date.now();
  const memo = `${name}:${subject} ${policy.quota}/${policy.windowMs}`;
  const refusal = c.get('caches').limitRefusals.get(memo, asked);
  if (refusal) return { name, policy, decision: refusedFor(refusal.until - asked) };

  const decision = await ask(c, `${name}:${subject}`, policy, (refused) => {
    const until = asked + refused.retryAfterMs;
    c.get('caches').limitRefusals.set(memo, { until }, until);
  });
  return decision && { name, policy, decision };
}

function refusedFor(ms: number): RateLimitDecision {
  return { admitted: false, remaining: 0, resetMs: ms, retryAfterMs: ms };
}

/** The 429 for a limit that refused, as arguments of `problem` or `Problem`. */
export function rateLimited({ name, policy, decision }: AppliedLimit): ConstructorParameters<typeof Problem> {
  const wait = retryAfter(decision.retryAfterMs);
  const may = `may send ${policy.quota} requests in ${policy.windowMs / 1000} seconds`;
  return [
    'rate_limited',
    `This ${name === 'ip' ? 'address' : 'key'} ${may}; send the request again after ${wait} s.`,
    { headers: { 'Retry-After': wait }, members: { 'violated-policies': [name] } },
  ];
}

/** Calls the limiter object, once more with a fresh stub if it could not be reached. `onRefusal` gets what the object itself refused. */
async function ask(
  c: ContextOf<AppEnv>,
  name: string,
  policy: RateLimitPolicy,
  onRefusal: (decision: RateLimitDecision) => void,
): Promise<RateLimitDecision | undefined> {
  const until = Date.now() + LIMITER_DEADLINE_MS;
  let failure: unknown;
  for (let attempt = 1; attempt <= 2 && Date.now() < until; attempt++) {
    try {
      c.get('requestStats').limiterCalls += 1;
      const decision = await withDeadline(c.env.RATE_LIMITER.getByName(name).take(policy), until - Date.now());
      if (!decision.admitted) onRefusal(decision);
      return decision;
    } catch (err) {
      if (err instanceof Error && 'overloaded' in err && err.overloaded === true) {
        return refusedFor(OVERLOADED_RETRY_MS);
      }
      failure = err;
    }
  }
  log('warn', 'limiter_unreachable', { requestId: c.get('requestId'), cause: failure });
  return undefined;
}

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
