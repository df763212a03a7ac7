import ipaddr from 'ipaddr.js';
import { NETWORK_QUOTA_FACTOR, type SubnetLimit } from './admission-log.ts';
import { addressGroup, IPV6_GROUP_BITS, IPV6_SITE_BITS, ipv6Network, isIPv4 } from './client-address.ts';
import { formatNetwork, isWithin, type Network, parseNetwork } from './networks.ts';
import { parseRequestLimit, type RequestLimit } from './request-limit.ts';

interface IpLimitOverride extends Network {
  requestLimit: RequestLimit;
  /** Whether all addresses of the network share one limit; otherwise each address group has its own. */
  isTotal: boolean;
}

/**
 * Parses `CIDR=limit` entries separated by commas, such as `203.0.113.0/24=5000/10s, 2001:db8::/32=100/1s/total`. The
 * most specific come first.
 */
export function parseIpLimitOverrides(text: string): IpLimitOverride[] {
  const overrides = new Map<string, IpLimitOverride>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    try {
      const override = parseOverride(entry);
      const name = formatNetwork(override);
      if (overrides.has(name)) throw new RangeError(`${name} appears twice`);
      overrides.set(name, override);
    } catch (err) {
      throw err instanceof RangeError ? new RangeError(`"${entry}": ${err.message}`) : err;
    }
  }
  return [...overrides.values()].sort((a, b) => b.bits - a.bits);
}

function parseOverride(entry: string): IpLimitOverride {
  const [, cidr, limit, total] = /^([^=]+?)\s*=\s*([^=/]+\/[^=/]+)(\/total)?$/.exec(entry) ?? [];
  if (cidr === undefined || limit === undefined)
    throw new RangeError(
      'write network=limit such as "203.0.113.0/24=5000/10s", with /total for one limit of the whole network',
    );
  if (!cidr.includes('/')) throw new RangeError(`${cidr} is not a network; write address/bits such as 203.0.113.0/24`);
  const network = parseNetwork(cidr);
  if (network.address.kind() === 'ipv6' && network.bits > IPV6_GROUP_BITS)
    throw new RangeError(`IPv6 addresses are limited per /${IPV6_GROUP_BITS}; write a network of that size or larger`);
  return { ...network, requestLimit: parseRequestLimit(limit), isTotal: total !== undefined };
}

/** The override of the most specific network that contains the address, if any does. */
function findOverride(overrides: readonly IpLimitOverride[], address: string | null): IpLimitOverride | undefined {
  if (overrides.length === 0 || address === null) return undefined;
  const from = ipaddr.process(address);
  return overrides.find((network) => isWithin(from, network));
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
  if (override?.isTotal)
    return { subject: formatNetwork(override), requestLimit: override.requestLimit, isNetwork: true };

  const requestLimit = override?.requestLimit ?? ipLimit;
  const parsed = address === null || isIPv4(address) ? undefined : ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6) || override?.bits === IPV6_GROUP_BITS) {
    return { subject: addressGroup(address), requestLimit, isNetwork: false };
  }
  // In a network of at least 48 bits, the fourth part of an address identifies its /64.
  const [, , , id = 0] = parsed.parts;
  return {
    subject: override && override.bits > IPV6_SITE_BITS ? formatNetwork(override) : ipv6Network(parsed, IPV6_SITE_BITS),
    requestLimit: { quota: NETWORK_QUOTA_FACTOR * requestLimit.quota, windowMs: requestLimit.windowMs },
    isNetwork: true,
    subnet: { id, requestLimit },
  };
}
