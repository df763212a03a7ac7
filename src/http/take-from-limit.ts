import type { LimiterDecision, SubnetLimit } from '../domain/admission-log.ts';
import { placedIn } from '../domain/jurisdiction.ts';
import {
  formatRequestLimit,
  MAX_WINDOW_MS,
  type RateLimitDecision,
  type RequestLimit,
} from '../domain/request-limit.ts';
import { withDeadline } from '../lib/deadline.ts';
import { log } from '../lib/log.ts';
import type { AppEnv, AppliedLimit, ContextOf } from './hono-env.ts';

/** The deadline for the limiter of one request, both attempts together. */
const LIMITER_DEADLINE_MS = 1_000;
const OVERLOADED_RETRY_MS = 1_000;

/** What one call to a limiter object needs to take a request from its limits. */
interface LimitedRequest extends Pick<AppliedLimit, 'name' | 'requestLimit' | 'isNetwork'> {
  subject: string;
  subnet?: SubnetLimit;
}

/** Takes one request from the limits of an IP address or key. Undefined if the limiter is unreachable: it passes. */
export async function takeFromLimit(
  c: ContextOf<AppEnv>,
  { name, subject, requestLimit, isNetwork, subnet }: LimitedRequest,
): Promise<AppliedLimit | undefined> {
  const object = `${name}:${subject}`;
  const own = { memo: `${object} ${formatRequestLimit(requestLimit)}`, limit: { name, requestLimit, isNetwork } };
  const ofSubnet = subnet && { memo: `${own.memo} ${subnet.id}`, limit: { name, requestLimit: subnet.requestLimit } };

  // An object that has refused would refuse again until the time it named, so a flood is answered from here. That time
  // is counted from before the call, so this cache never refuses longer than the object.
  const asked = Date.now();
  const refusals = c.get('caches').limitRefusals;
  const refusedUntil = (memo: string) => {
    const until = refusals.get(memo, asked) ?? asked;
    // A longer wait is from a clock that has been corrected since.
    return until > asked + MAX_WINDOW_MS ? asked : until;
  };
  const ownUntil = refusedUntil(own.memo);
  const subnetUntil = ofSubnet ? refusedUntil(ofSubnet.memo) : asked;
  if (ofSubnet && subnetUntil > ownUntil) return { ...ofSubnet.limit, decision: refusedFor(subnetUntil - asked) };
  if (ownUntil > asked) return { ...own.limit, decision: refusedFor(ownUntil - asked) };

  const decision = await callLimiter(c, object, requestLimit, subnet);
  if (!decision) return undefined;
  const { memo, limit } = (decision.ofSubnet && ofSubnet) || own;
  const until = asked + decision.retryAfterMs;
  if (!decision.admitted) refusals.set(memo, until, until);
  return { ...limit, decision };
}

function refusedFor(ms: number): RateLimitDecision {
  return { admitted: false, remaining: 0, resetMs: ms, retryAfterMs: ms };
}

/** Calls the limiter object, once more with a fresh stub if it could not be reached. */
async function callLimiter(
  c: ContextOf<AppEnv>,
  object: string,
  requestLimit: RequestLimit,
  subnet: SubnetLimit | undefined,
): Promise<LimiterDecision | undefined> {
  const until = Date.now() + LIMITER_DEADLINE_MS;
  let failure: unknown;
  for (let attempt = 1; attempt <= 2 && Date.now() < until; attempt++) {
    try {
      c.get('requestStats').limiterCalls += 1;
      const limiter = placedIn(c.env.RATE_LIMITER, c.get('config').jurisdiction).getByName(object);
      return await withDeadline(limiter.take(requestLimit, subnet), until - Date.now(), c.get('deadlines'));
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
