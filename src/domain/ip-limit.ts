import ipaddr from 'ipaddr.js';
import { addressGroup, IPV6_GROUP_BITS, IPV6_SITE_BITS, ipv6Network, isIPv4 } from './client-address.ts';
import { parseRequestLimit, type RequestLimit } from './request-limit.ts';
import { NETWORK_QUOTA_FACTOR, type SubnetLimit } from './request-log.ts';

export interface IpLimitOverride {
  network: ipaddr.IPv4 | ipaddr.IPv6;
  bits: number;
  requestLimit: RequestLimit;
  /** Whether all addresses of the network share one limit; otherwise each address group has its own. */
  isTotal: boolean;
}

const TOTAL = '/total';

/**
 * Parses `CIDR=limit` entries separated by commas, such as `203.0.113.0/24=5000/10s, 2001:db8::/32=100/1s/total`. The
 * most specific come first.
 */
export function parseIpLimitOverrides(text: string): IpLimitOverride[] {
  const overrides = new Map<string, IpLimitOverride>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const refuse = (rule: string) => new RangeError(`"${entry}": ${rule}`);
    const [cidr = '', limit, ...rest] = entry.split('=').map((part) => part.trim());
    if (limit === undefined || rest.length > 0) throw refuse('write network=limit such as "203.0.113.0/24=5000/10s"');
    const { network, bits } = parseNetwork(cidr, refuse);
    const name = `${network}/${bits}`;
    if (overrides.has(name)) throw refuse(`${name} appears twice`);
    overrides.set(name, { network, bits, ...parseLimit(limit, refuse) });
  }
  return [...overrides.values()].sort((a, b) => b.bits - a.bits);
}

/** The override of the most specific network that contains the address, if any does. */
export function findOverride(
  overrides: readonly IpLimitOverride[],
  address: string | null,
): IpLimitOverride | undefined {
  if (overrides.length === 0 || address === null) return undefined;
  const parsed = ipaddr.process(address);
  return overrides.find(({ network, bits }) => network.kind() === parsed.kind() && parsed.match(network, bits));
}

function parseNetwork(cidr: string, refuse: (rule: string) => RangeError): Pick<IpLimitOverride, 'network' | 'bits'> {
  const [address = ''] = cidr.split('/');
  // Refused: short and octal forms and zones, which are easily misread.
  const isPlain =
    ipaddr.IPv4.isValidFourPartDecimal(address) || (ipaddr.IPv6.isValid(address) && !address.includes('%'));
  if (!isPlain || !ipaddr.isValidCIDR(cidr))
    throw refuse(`${cidr} is not a network; write address/bits such as 203.0.113.0/24`);
  const [parsed, bits] = ipaddr.parseCIDR(cidr);
  const isIpv6 = parsed.kind() === 'ipv6';
  if (isIpv6 && bits > IPV6_GROUP_BITS)
    throw refuse(`IPv6 addresses are limited per /${IPV6_GROUP_BITS}; write a network of that size or larger`);
  const network = (isIpv6 ? ipaddr.IPv6 : ipaddr.IPv4).networkAddressFromCIDR(cidr);
  if (network.toString() !== parsed.toString())
    throw refuse(`${cidr} has bits set after its network part; write ${network}/${bits}`);
  return { network, bits };
}

function parseLimit(
  limit: string,
  refuse: (rule: string) => RangeError,
): Pick<IpLimitOverride, 'requestLimit' | 'isTotal'> {
  const isTotal = limit.endsWith(TOTAL);
  try {
    return { requestLimit: parseRequestLimit(isTotal ? limit.slice(0, -TOTAL.length) : limit), isTotal };
  } catch (err) {
    throw err instanceof RangeError ? refuse(`${err.message}; add ${TOTAL} for one limit of the whole network`) : err;
  }
}

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
