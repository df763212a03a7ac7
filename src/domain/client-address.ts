import ipaddr from 'ipaddr.js';

/** How many leading bits the addresses of an IPv6 group share. */
const IPV6_GROUP_BITS = 64;
/** The largest network that providers usually give to one site (RFC 6177). */
export const IPV6_SITE_BITS = 48;

const IPV4_PART = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = new RegExp(`^${IPV4_PART}(?:\\.${IPV4_PART}){3}$`);

/** Whether this is an IPv4 address as Cloudflare writes it, which needs no parser. */
export const isIPv4 = (address: string): boolean => IPV4.test(address);

/** The address in a header; null for any other value, which is not kept. */
export function clientAddress(header: string | undefined): string | null {
  if (header === undefined || isIPv4(header)) return header ?? null;
  return ipaddr.isValid(header) && !header.includes('%') ? header : null;
}

/**
 * The group of addresses that share one IP limit: a single IPv4 address (even when written as an IPv4-mapped IPv6
 * address), or the /64 of an IPv6 address, because one subscriber usually has a whole /64. Callers without an address
 * share the group `none`.
 */
export function addressGroup(address: string | null): string {
  if (address === null) return 'none';
  if (isIPv4(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return ipv6Network(parsed, IPV6_GROUP_BITS);
}

/** The network of an IPv6 address, such as `2001:db8:1::/48`. `bits` is a multiple of 16. */
export function ipv6Network({ parts }: ipaddr.IPv6, bits: number): string {
  const network = new ipaddr.IPv6(parts.map((part, index) => (index < bits / 16 ? part : 0)));
  return `${network}/${bits}`;
}
