import { DurableObject } from 'cloudflare:workers';
import { type LimiterDecision, NetworkLog, type SubnetLimit } from '../domain/network-log.ts';
import { type RateLimitPolicy, SlidingWindowLog } from '../domain/rate-limit.ts';

/**
 * One object per IPv4 address, network and key counts its requests in memory, and only there. It may lose that memory after 10 idle
 * seconds, but no window is longer, so what is lost had left the window already. Only a deploy or a crash within a window can admit more: at
 * most one further quota. The policy comes with each call, so a changed one acts at once. There is no await between reading and
 * writing the log, hence no lock.
 */
export class RateLimiter extends DurableObject<Env> {
  private readonly log = new SlidingWindowLog();
  private readonly network = new NetworkLog();

  /** Counts one request, or refuses it without counting. With a subnet, both limits must admit it. */
  take(policy: RateLimitPolicy, subnet?: SubnetLimit): LimiterDecision {
    const now = Date.now();
    return subnet ? this.network.take(policy, subnet, now) : this.log.take(policy, now);
  }
}
