import { describe, expect, test } from 'vitest';
import { parseList } from '../../src/domain/entered-list.ts';
import { isAllowedFrom, MAX_NETWORKS, parseNetworks } from '../../src/domain/networks.ts';

describe('a list of networks', () => {
  test.each([
    ['', ''],
    [' \n ', ''],
    ['203.0.113.0/24', '203.0.113.0/24'],
    ['203.0.113.7', '203.0.113.7/32'],
    ['203.0.113.0/24, 198.51.100.7;2001:DB8:0::/48\n203.0.113.0/24', '203.0.113.0/24 198.51.100.7/32 2001:db8::/48'],
    ['2001:db8::1', '2001:db8::1/128'],
    ['10.0.0.0/8', '10.0.0.0/8'],
  ])('the list %j is stored as %j', (text, stored) => {
    expect(parseNetworks(text)).toBe(stored);
    expect(parseNetworks(stored)).toBe(stored);
  });

  test.each([
    ['203.0.113.0/33', /"203\.0\.113\.0\/33"; write the number of bits from 0 to 32/],
    ['203.0.113.7/24', /bits set after its network part; write 203\.0\.113\.0\/24/],
    ['2001:db8::1/64', /write 2001:db8::\/64/],
    ['2001:db8::/129', /from 0 to 128/],
    ['203.0.113', /not an address or a network/],
    ['0x7f.0.0.1', /not an address/],
    ['010.0.0.1', /not an address/],
    ['fe80::1%eth0', /not an address/],
    ['example.com', /not an address/],
    ['0.0.0.0/0', /every address; leave the field empty/],
    ['::/0', /every address/],
    ['::ffff:203.0.113.7', /write the IPv4 address as 203\.0\.113\.7/],
    [
      Array.from({ length: MAX_NETWORKS + 1 }, (_, index) => `10.0.${index}.0/24`).join(' '),
      /has 21 networks; write at most 20/,
    ],
  ])('the list %s is refused with its reason', (text, reason) => {
    expect(() => parseNetworks(text)).toThrow(reason);
  });

  test('a list may contain the maximum number of networks', () => {
    const text = Array.from({ length: MAX_NETWORKS }, (_, index) => `10.0.${index}.0/24`).join('\n');
    expect(parseNetworks(text).split(' ')).toHaveLength(MAX_NETWORKS);
  });
});

test('reading a list that a person entered ends at its 20th wrong entry, and a long one is not read', () => {
  const read = (text: string) => {
    let parsed = 0;
    const limits = { maxLength: 2_000, max: 20, entries: 'networks' };
    const parse = (entry: string): string => {
      parsed += 1;
      throw new RangeError(`has ${entry}`);
    };
    expect(() => parseList(text, limits, parse)).toThrow(/^has /);
    return parsed;
  };
  expect(['a', 'a '.repeat(1_000), 'a '.repeat(250_000)].map(read)).toEqual([1, 20, 0]);
  expect(() => parseNetworks('a '.repeat(250_000))).toThrow('has 500000 characters; write at most 2000');
  const longest = '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128';
  expect(longest.length * 2 * MAX_NETWORKS).toBeLessThan(2_000);
});

describe('an address', () => {
  test.each([
    ['203.0.113.0/24', '203.0.113.255', true],
    ['203.0.113.0/24', '203.0.114.0', false],
    ['203.0.113.0/24 2001:db8::/48', '2001:db8:0:ffff::1', true],
    ['203.0.113.0/24 2001:db8::/48', '2001:db8:1::1', false],
    ['203.0.113.0/24', '::ffff:203.0.113.9', true],
    ['2001:db8::/48', '203.0.113.9', false],
    ['203.0.113.7/32', '203.0.113.7', true],
    ['203.0.113.7/32', '203.0.113.8', false],
    ['203.0.113.0/24', null, false],
    ['', null, true],
    ['', '203.0.113.9', true],
  ])('with the networks %j, %j is allowed: %s', (networks, address, allowed) => {
    expect(isAllowedFrom(networks, address)).toBe(allowed);
  });
});
