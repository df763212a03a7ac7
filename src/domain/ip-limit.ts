import ipaddr from 'ipaddr.js';
import { addressGroup, IPV6_GROUP_BITS, IPV6_SITE_BITS, ipv6Network, isIPv4 } from './client-address.ts';
import { findOverride, type IpLimitOverride } from './ip-limit-overrides.ts';
import { NETWORK_QUOTA_FACTOR, type SubnetLimit } from './network-log.ts';
import type { RequestLimit } from './request-limit.ts';

/** The limits that a request counts against by its address. One limiter object keeps them all. */
export interface IpLimit {
  /** The object's subject: an IPv4 address, a network, or `none`. */
  subject: string;
  requestLimit: RequestLimit;
  /** Whether `requestLimit` is the limit of a network, which others may use up. */
  isNetwork: boolean;
  /** In an IPv6 network also the limit of the address's /64. */
  subnet?: SubnetLimit;
}

/**
 * The limits of an address, by the most specific override or else the deployment's `ipLimit`.
 *
 * An IPv6 subscriber may own all subnets of a /48, so its /64s also share a limit. An override for a smaller network
 * takes that network out of its /48: neither uses up the limit of the other.
 */
export function ipLimitOf(
  address: string | null,
  ipLimit: RequestLimit,
  overrides: readonly IpLimitOverride[],
): IpLimit {
  const override = findOverride(overrides, address);
  if (override?.isTotal) return { subject: networkOf(override), requestLimit: override.requestLimit, isNetwork: true };

  const requestLimit = override?.requestLimit ?? ipLimit;
  const parsed = address === null || isIPv4(address) ? undefined : ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6) || override?.bits === IPV6_GROUP_BITS) {
    return { subject: addressGroup(address), requestLimit, isNetwork: false };
  }
  // In a network of at least 48 bits, the fourth part of an address identifies its /64.
  const [, , , id = 0] = parsed.parts;
  return {
    subject: override && override.bits > IPV6_SITE_BITS ? networkOf(override) : ipv6Network(parsed, IPV6_SITE_BITS),
    requestLimit: { quota: NETWORK_QUOTA_FACTOR * requestLimit.quota, windowMs: requestLimit.windowMs },
    isNetwork: true,
    subnet: { id, requestLimit },
  };
}

const networkOf = ({ network, bits }: IpLimitOverride) => `${network}/${bits}`;
