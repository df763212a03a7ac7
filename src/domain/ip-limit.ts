import ipaddr from 'ipaddr.js';
import { NETWORK_QUOTA_FACTOR, type SubnetLimit } from './admission-log.ts';
import { addressGroup, IPV6_SITE_BITS, ipv6Network, isIPv4 } from './client-address.ts';
import type { RequestLimit } from './request-limit.ts';

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
