import { withDeadline } from '../lib/deadline.ts';
import type { RateLimitDecision, RateLimitPolicy } from '../domain/rate-limit.ts';
import type { AppliedLimit, RequestScope } from '../env.ts';
import { log } from '../lib/log.ts';
import type { Problem } from './problem.ts';
import { retryAfter } from './rate-limit-fields.ts';

/** How long a request waits for a limiter, both tries together. */
const LIMITER_DEADLINE_MS = 1_000;
/** What an overloaded limiter object asks of its callers. */
const OVERLOADED_RETRY_MS = 1_000;

/** Takes one request from the limit of an address group or a key. Undefined: the limiter could not be reached, and so lets pass. */
export async function takeFromLimit(
  c: RequestScope,
  name: AppliedLimit['name'],
  subject: string,
  policy: RateLimitPolicy,
): Promise<AppliedLimit | undefined> {
  // An object that has refused would refuse again until the time it named, so a flood is answered from here. That time is reckoned from
  // before the question was sent: what is refused here, the object would have refused too.
  const asked = Date.now();
  const memo = `${name}:${subject} ${policy.quota}/${policy.windowMs}`;
  const refusal = c.get('memory').refusals.get(memo, asked);
  if (refusal) return { name, policy, decision: refusedFor(refusal.until - asked) };

  const decision = await ask(c, `${name}:${subject}`, policy, (refused) => {
    const until = asked + refused.retryAfterMs;
    c.get('memory').refusals.set(memo, { until }, until);
  });
  return decision && { name, policy, decision };
}

function refusedFor(ms: number): RateLimitDecision {
  return { admitted: false, remaining: 0, resetMs: ms, retryAfterMs: ms };
}

/** The 429 for a limit that refused: what `problem` answers with, or a `Problem` is made of. */
export function rateLimited({ name, policy, decision }: AppliedLimit): ConstructorParameters<typeof Problem> {
  const wait = retryAfter(decision.retryAfterMs);
  const may = `may send ${policy.quota} requests in ${policy.windowMs / 1000} seconds`;
  return [
    'rate_limited',
    `This ${name === 'ip' ? 'address' : 'key'} ${may}; send the request again after ${wait} s.`,
    { headers: { 'Retry-After': wait }, members: { 'violated-policies': [name] } },
  ];
}

/** Asks the limiter object, and once more through a fresh stub if it could not be reached. `onRefusal` is told what it itself refused. */
async function ask(
  c: RequestScope,
  name: string,
  policy: RateLimitPolicy,
  onRefusal: (decision: RateLimitDecision) => void,
): Promise<RateLimitDecision | undefined> {
  const until = Date.now() + LIMITER_DEADLINE_MS;
  let failure: unknown;
  for (let attempt = 1; attempt <= 2 && Date.now() < until; attempt++) {
    try {
      c.get('facts').limiterCalls += 1;
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
