import ipaddr from 'ipaddr.js';
import { IPV6_GROUP_BITS } from './client-address.ts';
import { parseRequestLimit, type RequestLimit } from './request-limit.ts';

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
 * @throws RangeError naming the entry and the rule
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
