import ipaddr from 'ipaddr.js';

/** How many leading bits the addresses of an IPv6 group share. */
export const IPV6_GROUP_BITS = 64;

/** The caller's address out of the header that is to hold it; null if that holds anything else, which is not kept. */
export function clientAddress(header: string | undefined): string | null {
  return header !== undefined && ipaddr.isValid(header) && !header.includes('%') ? header : null;
}

/**
 * The group of addresses that share one IP limit: an IPv4 address by itself (also when written as an IPv4-mapped IPv6 address), an
 * IPv6 address with its /64, for one subscriber usually has that many. Whoever has no address shares the group `none`.
 */
export function addressGroup(address: string | null): string {
  if (address === null) return 'none';
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = new ipaddr.IPv6([...parsed.parts.slice(0, IPV6_GROUP_BITS / 16), 0, 0, 0, 0]);
  return `${network}/${IPV6_GROUP_BITS}`;
}
