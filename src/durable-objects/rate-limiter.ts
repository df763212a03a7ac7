import { DurableObject } from 'cloudflare:workers';
import { type RateLimitDecision, type RateLimitPolicy, SlidingWindowLog } from '../domain/rate-limit.ts';

/**
 * One object per IP group and per key counts its requests in memory, and only there. It may lose that memory after 10 idle seconds,
 * but no window is longer, so what is lost had left the window already. Only a deploy or a crash within a window can admit more: at
 * most one further quota. The policy comes with each call, so a changed one acts at once. There is no await between reading and
 * writing the log, hence no lock.
 */
export class RateLimiter extends DurableObject<Env> {
  private readonly log = new SlidingWindowLog();

  /** Counts one request, or refuses it without counting. */
  take(policy: RateLimitPolicy): RateLimitDecision {
    return this.log.take(policy, Date.now());
  }
}
