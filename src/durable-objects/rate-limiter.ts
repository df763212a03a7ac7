import { DurableObject } from 'cloudflare:workers';
import { AdmissionLog, type LimiterDecision, type RequestLimit, type SubnetLimit } from '../domain/request-limit.ts';

/**
 * Counts the requests of one IPv4 address, network or key, in memory only. The object may lose its memory after 10 idle
 * seconds, but no window is longer, so the lost requests had already left the window. Only a deployment or crash within
 * a window admits more: at most one additional quota. The limit is passed with each call, so a change applies immediately.
 * No await separates reading and writing the log, so no lock is needed.
 */
export class RateLimiter extends DurableObject<Env> {
  private readonly log = new AdmissionLog();

  /** Counts one request, or refuses it without counting. With a subnet, both limits must admit it. */
  take(requestLimit: RequestLimit, subnet?: SubnetLimit): LimiterDecision {
    return this.log.take(requestLimit, Date.now(), subnet);
  }
}
