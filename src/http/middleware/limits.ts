import type { Context, MiddlewareHandler, Next } from 'hono';
import { DAY_MS } from '../../domain/calendar.ts';
import { placedIn } from '../../domain/jurisdiction.ts';
import {
  formatRequestLimit,
  ipLimitOf,
  type LimiterDecision,
  MAX_WINDOW_MS,
  type RateLimitDecision,
  type RequestLimit,
  requestLimitInWords,
  type SubnetLimit,
} from '../../domain/request-limit.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { log } from '../../lib/log.ts';
import type { KeyDayUse } from '../../services/service-context.ts';
import type { ApiEnv, AppEnv, AppliedLimit, ContextOf } from '../hono-env.ts';
import { type ProblemArguments, problem, retryAfter } from '../problems.ts';

type Refuse = (c: Context<AppEnv>, applied: AppliedLimit) => Response | Promise<Response>;

// Not thrown: capturing a stack would be a large part of the cost of a flood.
const refuseWithProblem: Refuse = (c, applied) => problem(c, ...rateLimited(applied));

/** Counted separately: a flood of one area blocks no other, so an administrator can still revoke a key. */
type LimitedArea = 'api' | 'psa' | 'settings' | 'site';

/** Applies the limits of the caller's IP address, before its key or body is read. */
export function limitByIp(area: LimitedArea, refuse: Refuse = refuseWithProblem): MiddlewareHandler<AppEnv> {
  return async function limitByIp(c, next) {
    const limit = ipLimitOf(c.get('source').address, c.get('config').ipLimit);
    const subject = area === 'api' ? limit.subject : `${area}:${limit.subject}`;
    const applied = await takeFromLimit(c, { name: 'ip', ...limit, subject });
    if (applied && !applied.decision.admitted) {
      c.set('appliedLimit', applied);
      return refuse(c, applied);
    }
    return next();
  };
}

/** The limit of a key, shared by all keys of a rotation chain. */
export async function keyLimit(c: Context<ApiEnv>, next: Next) {
  const { organizationId, chainId } = c.get('principal');
  const { keyLimit: requestLimit } = c.get('config');
  const applied = await takeFromLimit(c, { name: 'key', subject: `${organizationId}:${chainId}`, requestLimit });
  if (applied) c.set('appliedLimit', applied);
  if (applied?.decision.admitted === false) return problem(c, ...rateLimited(applied));
  return next();
}

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
  return `${subject} may send ${requestLimitInWords(requestLimit)}`;
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
