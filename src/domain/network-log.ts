import { NumberRing } from '../lib/number-ring.ts';
import {
  hasRoom,
  heldStill,
  MAX_QUOTA,
  oldestHasLeft,
  type RateLimitDecision,
  type RequestLimit,
  stateOf,
} from './request-limit.ts';

/** How many times the quota of one of its subnets a network has. */
export const NETWORK_QUOTA_FACTOR = 4;
export const MAX_NETWORK_QUOTA = NETWORK_QUOTA_FACTOR * MAX_QUOTA;

export interface SubnetLimit {
  id: number;
  requestLimit: RequestLimit;
}

/** Of two limits, the one that leaves less room; for a refusal, the one that refuses longer. */
export interface LimiterDecision extends RateLimitDecision {
  /** Whether it describes a subnet's limit rather than the object's own. */
  ofSubnet?: boolean;
}

/**
 * The sliding-window logs of a network and of its subnets. A request is admitted if both have room, and is then in
 * both. Each log holds its own clock still, as `SlidingWindowLog` does.
 *
 * An admission leaves its subnet's log when it leaves the network's: after 10 s, or as the oldest of 40,000. An empty
 * log is dropped. So all subnets together hold as many entries as the network, however many of them send. Nothing that
 * still counts is lost: while the 40,000 entries of the network lie within a window, its own limit refuses.
 */
export class NetworkLog {
  private readonly times = new NumberRing();
  /** The subnet of each entry of `times`. */
  private readonly ids = new NumberRing();
  private readonly subnets = new Map<number, NumberRing>();

  /** As `SlidingWindowLog.take`. `requestLimit` is the network's, with a quota of at most `MAX_NETWORK_QUOTA`. */
  take(requestLimit: RequestLimit, subnet: SubnetLimit, now: number): LimiterDecision {
    const time = heldStill(this.times, now);
    while (oldestHasLeft(this.times, time)) this.dropOldest();

    const known = this.subnets.get(subnet.id);
    const subnetTime = known ? heldStill(known, now) : now;
    const admitted =
      hasRoom(this.times, requestLimit, time) && (!known || hasRoom(known, subnet.requestLimit, subnetTime));
    const subnetTimes = admitted ? this.append(subnet.id, time, subnetTime) : known;

    const ofNetwork = stateOf(this.times, requestLimit, time);
    const ofSubnet = subnetTimes && stateOf(subnetTimes, subnet.requestLimit, subnetTime);
    return ofSubnet && leavesLess(ofSubnet, ofNetwork)
      ? { admitted, ...ofSubnet, ofSubnet: true }
      : { admitted, ...ofNetwork, ofSubnet: false };
  }

  private append(id: number, time: number, subnetTime: number): NumberRing {
    if (this.times.length === MAX_NETWORK_QUOTA) this.dropOldest();
    this.times.push(time);
    this.ids.push(id);
    const subnet = this.subnets.get(id) ?? new NumberRing();
    this.subnets.set(id, subnet);
    subnet.push(subnetTime);
    return subnet;
  }

  private dropOldest(): void {
    this.times.shift();
    const id = this.ids.shift();
    const subnet = this.subnets.get(id);
    subnet?.shift();
    if (subnet?.length === 0) this.subnets.delete(id);
  }
}

type State = Omit<RateLimitDecision, 'admitted'>;

function leavesLess(state: State, other: State): boolean {
  if (state.retryAfterMs !== other.retryAfterMs) return state.retryAfterMs > other.retryAfterMs;
  return state.remaining < other.remaining;
}
