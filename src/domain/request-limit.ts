import ipaddr from 'ipaddr.js';
import { inThousands } from '../lib/in-thousands.ts';
import { addressGroup, IPV6_SITE_BITS, ipv6Network, isIPv4 } from './client-address.ts';

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
  const seconds = windowMs / 1000;
  return `${inThousands(quota)} ${quota === 1 ? 'request' : 'requests'} in any ${seconds === 1 ? 'second' : `${seconds} seconds`}`;
}

/** How many times the quota of one of its subnets a network has. */
export const NETWORK_QUOTA_FACTOR = 4;
export const MAX_NETWORK_QUOTA = NETWORK_QUOTA_FACTOR * MAX_QUOTA;

export interface SubnetLimit {
  id: number;
  requestLimit: RequestLimit;
}

/** The stricter of two limits: fewer requests left, or the longer wait. */
export interface LimiterDecision extends RateLimitDecision {
  /** Whether it describes a subnet's limit rather than the object's own. */
  ofSubnet?: boolean;
}

/**
 * A sliding-window log: the times of the admitted requests, oldest first, and those of each subnet of a network.
 *
 * A request is admitted if the request `quota` admissions ago is at least one window old, so no window of that length,
 * wherever it begins, contains more than the quota. With a subnet, both limits must have room, and the request is then
 * in both logs. The log keeps everything that a valid limit needs, so a limit that changes between two calls applies
 * to the real history.
 *
 * An admission is needed for 10 s, and only among the latest 40,000: while these lie within a window, the network's own
 * limit refuses. Half of the entries are removed at a time, when they are no longer needed, because removing the first
 * one of a long array moves all others. A subnet without entries is dropped, so all subnets together hold as many
 * entries as the network, however many of them send.
 */
export class AdmissionLog {
  private readonly times: number[] = [];
  /** The subnet of each entry of `times`. */
  private readonly ids: (number | undefined)[] = [];
  private readonly subnets = new Map<number | undefined, number[]>();

  /**
   * Counts one request at `now` (milliseconds), or refuses it. If `now` is earlier than the last admission, the time of
   * that admission counts. If it is earlier by more than the longest window, the clock was wrong before: what was
   * admitted after `now` plus a window is dropped. An object in a local workerd does not see a step back of the clock
   * before it has been idle for 10 s: until then `Date.now()` stands still there, and a used quota stays used.
   */
  take(requestLimit: RequestLimit, now: number, subnet?: SubnetLimit): LimiterDecision {
    this.drop(firstAfter(this.times, now + MAX_WINDOW_MS), this.times.length);
    const time = Math.max(now, this.times.at(-1) ?? now);
    const old = Math.max(firstAfter(this.times, time - MAX_WINDOW_MS), this.times.length - MAX_NETWORK_QUOTA);
    if (old > this.times.length / 2) this.drop(0, old);

    const ofNetwork = () => stateOf(this.times, requestLimit, time);
    const ofSubnet = () => subnet && stateOf(this.subnets.get(subnet.id) ?? [], subnet.requestLimit, time);
    const admitted = ofNetwork().remaining > 0 && ofSubnet()?.remaining !== 0;
    if (admitted) this.append(time, subnet?.id);

    const [own, other] = [ofNetwork(), ofSubnet()];
    return other && leavesLess(other, own)
      ? { admitted, ...other, ofSubnet: true }
      : { admitted, ...own, ofSubnet: false };
  }

  private append(time: number, id: number | undefined): void {
    this.times.push(time);
    this.ids.push(id);
    if (id === undefined) return;
    const subnet = this.subnets.get(id) ?? [];
    subnet.push(time);
    this.subnets.set(id, subnet);
  }

  /** Drops the entries from `start` to `end`, which are the first or the last ones. */
  private drop(start: number, end: number): void {
    this.times.splice(start, end - start);
    for (const [id, { length }] of Map.groupBy(this.ids.splice(start, end - start), (one) => one)) {
      const subnet = this.subnets.get(id);
      subnet?.splice(start === 0 ? 0 : -length, length);
      if (subnet?.length === 0) this.subnets.delete(id);
    }
  }
}

type State = Omit<RateLimitDecision, 'admitted'>;

function leavesLess(state: State, other: State): boolean {
  if (state.retryAfterMs !== other.retryAfterMs) return state.retryAfterMs > other.retryAfterMs;
  return state.remaining < other.remaining;
}

function stateOf(times: readonly number[], { quota, windowMs }: RequestLimit, time: number): State {
  const counted = times.length - firstAfter(times, time - windowMs);
  const leavesIn = (index: number) => (times.at(index) ?? time) + windowMs - time;
  return {
    remaining: Math.max(0, quota - counted),
    resetMs: counted === 0 ? 0 : leavesIn(-counted),
    retryAfterMs: counted < quota ? 0 : leavesIn(-quota),
  };
}

/** The index of the first time after `since`: binary search, since they are in order. */
function firstAfter(times: readonly number[], since: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? since) > since) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The limits that a request counts against by its address. One limiter object keeps them all. */
interface IpLimit {
  /** The object's subject: an IPv4 address, a network, or `none`. */
  subject: string;
  requestLimit: RequestLimit;
  /** Whether `requestLimit` is the limit of a network, which others may use up. */
  isNetwork: boolean;
  /** In an IPv6 network also the limit of the address's /64. */
  subnet?: SubnetLimit;
}

/** The limits of an address. An IPv6 subscriber may own all subnets of a /48, so its /64s also share a limit. */
export function ipLimitOf(address: string | null, requestLimit: RequestLimit): IpLimit {
  const parsed = address === null || isIPv4(address) ? undefined : ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return { subject: addressGroup(address), requestLimit, isNetwork: false };
  // In a network of at least 48 bits, the fourth part of an address identifies its /64.
  const [, , , id = 0] = parsed.parts;
  return {
    subject: ipv6Network(parsed, IPV6_SITE_BITS),
    requestLimit: { quota: NETWORK_QUOTA_FACTOR * requestLimit.quota, windowMs: requestLimit.windowMs },
    isNetwork: true,
    subnet: { id, requestLimit },
  };
}
