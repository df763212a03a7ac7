import ipaddr from 'ipaddr.js';
import { ExpiringMap } from '../lib/expiring-map.ts';
import { parseList } from './entered-list.ts';

/** The most networks that one key may be limited to. */
export const MAX_NETWORKS = 20;
/** Room for twice as many, with white space between them. */
const MAX_NETWORKS_LENGTH = 2_000;

interface Network {
  address: ipaddr.IPv4 | ipaddr.IPv6;
  bits: number;
}

/** Lists that were read recently, by their text: a busy key has the same one with each request. */
const readLists = new ExpiringMap<readonly Network[]>(1_000);

/**
 * Parses networks such as `203.0.113.0/24`, or single addresses, separated by white space or commas. Returns them as
 * they are stored: each once, with its bits, separated by spaces; empty for none.
 * @throws RangeError naming each wrong entry and its rule
 */
export function parseNetworks(text: string): string {
  const limits = { maxLength: MAX_NETWORKS_LENGTH, max: MAX_NETWORKS, entries: 'networks' };
  return parseList(text, limits, (entry) => {
    const network = parseNetwork(entry);
    if (network.bits > 0) return formatNetwork(network);
    throw new RangeError(`has ${JSON.stringify(entry)}, which is every address; leave the field empty instead`);
  }).join(' ');
}

/** The network of one address: `192.0.2.9/32`. */
export const hostNetwork = (address: string) => formatNetwork(parseNetwork(ipaddr.process(address).toString()));

const formatNetwork = ({ address, bits }: Network) => `${address}/${bits}`;

/** Parses a network, or one address. @throws RangeError that begins with "has" and the text */
function parseNetwork(entry: string): Network {
  const shown = JSON.stringify(entry.slice(0, 50));
  const [address = '', bits] = entry.split('/');
  // Refused: short and octal forms and zones, which are easily misread.
  const isIpv4 = ipaddr.IPv4.isValidFourPartDecimal(address);
  const isIpv6 = ipaddr.IPv6.isValid(address) && !address.includes('%');
  if (!isIpv4 && !isIpv6)
    throw new RangeError(`has ${shown}, which is not an address or a network such as 203.0.113.0/24`);
  const cidr = bits === undefined ? `${address}/${isIpv4 ? 32 : 128}` : entry;
  if (!ipaddr.isValidCIDR(cidr))
    throw new RangeError(
      `has ${shown}; write the number of bits from 0 to ${isIpv4 ? 32 : 128}, such as ${address}/${isIpv4 ? 24 : 48}`,
    );
  const [parsed, length] = ipaddr.parseCIDR(cidr);
  if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress())
    throw new RangeError(`has ${shown}; write the IPv4 address as ${parsed.toIPv4Address()}`);
  const network = (isIpv4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(cidr);
  if (network.toString() !== parsed.toString())
    throw new RangeError(`has ${shown}, which has bits set after its network part; write ${network}/${length}`);
  return { address: network, bits: length };
}

/** Whether a key with these networks may be used from an address. If it has any, not from an unknown address. */
export function isAllowedFrom(networks: string, address: string | null): boolean {
  if (networks === '') return true;
  if (address === null) return false;
  // An IPv4 address that is written as an IPv6 one counts as IPv4.
  const from = ipaddr.process(address);
  return listOf(networks).some((network) => isWithin(from, network));
}

const isWithin = (from: Network['address'], { address, bits }: Network) =>
  address.kind() === from.kind() && from.match(address, bits);

function listOf(networks: string): readonly Network[] {
  const known = readLists.get(networks, 0);
  if (known) return known;
  const list = networks.split(' ').map((network) => {
    const [address, bits] = ipaddr.parseCIDR(network);
    return { address, bits };
  });
  readLists.set(networks, list, Number.POSITIVE_INFINITY);
  return list;
}
