import { describe, expect, test } from 'vitest';
import { MAX_NETWORK_QUOTA } from '../../src/domain/admission-log.ts';
import { clientAddress } from '../../src/domain/client-address.ts';
import { ipLimitOf, parseIpLimitOverrides } from '../../src/domain/ip-limit.ts';
import { parseRequestLimit } from '../../src/domain/request-limit.ts';

const DEPLOYMENT = parseRequestLimit('1200/10s');

/** The object, its limit, and the subnet with its limit: `1/1s` for quota 1 in 1 s. */
function limitOf(address: string | undefined, overrides = '') {
  const limit = ipLimitOf(clientAddress(address), DEPLOYMENT, parseIpLimitOverrides(overrides));
  const { subject, requestLimit, isNetwork, subnet } = limit;
  const text = ({ quota, windowMs }: typeof requestLimit) => `${quota}/${windowMs / 1_000}s`;
  return [
    subject,
    text(requestLimit),
    isNetwork,
    ...(subnet ? [subnet.id.toString(16), text(subnet.requestLimit)] : []),
  ];
}

describe('the limits of an address', () => {
  test.each([
    ['192.0.2.7', ['192.0.2.7', '1200/10s', false]],
    ['::ffff:192.0.2.7', ['192.0.2.7', '1200/10s', false]],
    ['::ffff:c000:207', ['192.0.2.7', '1200/10s', false]],
    [undefined, ['none', '1200/10s', false]],
    ['not an address', ['none', '1200/10s', false]],
    ['2001:db8:1:2:3:4:5:6', ['2001:db8:1::/48', '4800/10s', true, '2', '1200/10s']],
    ['2001:DB8:1:FFFF::', ['2001:db8:1::/48', '4800/10s', true, 'ffff', '1200/10s']],
    ['2001:db8:1::', ['2001:db8:1::/48', '4800/10s', true, '0', '1200/10s']],
    ['::1', ['::/48', '4800/10s', true, '0', '1200/10s']],
  ])('the address %s gets the limits %j', (address, limit) => {
    expect(limitOf(address)).toEqual(limit);
  });

  test('an override for each address group limits the group, and a /48 gets four times as much', () => {
    const overrides = '203.0.113.0/24=9/9s, 2001:db8::/32=7/7s, 2001:db8:1::/48=6/6s, 2001:db8:1:100::/56=5/5s';
    expect(limitOf('203.0.113.7', overrides)).toEqual(['203.0.113.7', '9/9s', false]);
    expect(limitOf('2001:db8:2:3::1', overrides)).toEqual(['2001:db8:2::/48', '28/7s', true, '3', '7/7s']);
    expect(limitOf('2001:db8:1:3::1', overrides)).toEqual(['2001:db8:1::/48', '24/6s', true, '3', '6/6s']);
    expect(limitOf('2001:db8:1:1ff::1', overrides)).toEqual(['2001:db8:1:100::/56', '20/5s', true, '1ff', '5/5s']);
    expect(limitOf('2001:db8:1:200::1', overrides)).toEqual(['2001:db8:1::/48', '24/6s', true, '200', '6/6s']);
  });

  test('an override for a /64 is its only limit', () => {
    expect(limitOf('2001:db8:1:2::9', '2001:db8:1:2::/64=5/5s')).toEqual(['2001:db8:1:2::/64', '5/5s', false]);
  });

  test('an override for a whole network is the only limit of its addresses', () => {
    const overrides =
      '203.0.113.0/24=500/10s/total, 203.0.113.128/25=9/9s, 2001:db8::/32=100/1s/total, ::/0=1/1s/total';
    expect(limitOf('203.0.113.7', overrides)).toEqual(['203.0.113.0/24', '500/10s', true]);
    expect(limitOf('::ffff:203.0.113.8', overrides)).toEqual(['203.0.113.0/24', '500/10s', true]);
    expect(limitOf('203.0.113.129', overrides)).toEqual(['203.0.113.129', '9/9s', false]);
    expect(limitOf('2001:db8:1:2::9', overrides)).toEqual(['2001:db8::/32', '100/1s', true]);
    expect(limitOf('2001:db9::', overrides)).toEqual(['::/0', '1/1s', true]);
    expect(limitOf('192.0.2.7', overrides)).toEqual(['192.0.2.7', '1200/10s', false]);
    expect(limitOf(undefined, '0.0.0.0/0=1/1s')).toEqual(['none', '1200/10s', false]);
    expect(limitOf('198.51.100.1', '203.0.113.0/24=9/9s, 0.0.0.0/0=1/1s')).toEqual(['198.51.100.1', '1/1s', false]);
  });

  test("the limits never exceed the capacity of a network's log", () => {
    const [largest] = parseIpLimitOverrides('2001:db8::/32=10000/10s');
    const { requestLimit } = ipLimitOf('2001:db8::1', DEPLOYMENT, largest ? [largest] : []);
    expect(requestLimit.quota).toBe(MAX_NETWORK_QUOTA);
  });
});

describe('the limits of networks', () => {
  test('a limit for a network as a whole is written with /total at its end', () => {
    expect(parseIpLimitOverrides('203.0.113.0/24 = 500/10s/total')).toMatchObject([
      { bits: 24, requestLimit: { quota: 500, windowMs: 10_000 }, isTotal: true },
    ]);
    expect(parseIpLimitOverrides('203.0.113.0/24=500/10s')).toMatchObject([{ isTotal: false }]);
  });

  test.each([
    ['203.0.113.0/24', /network=limit/],
    ['203.0.113.0/24=1/1s=2/2s', /network=limit/],
    ['203.0.113.0=1/1s', /203\.0\.113\.0 .*network/],
    ['203.0.113/24=1/1s', /"203\.0\.113\/24", .*network/],
    ['203.0.113.010/32=1/1s', /network/],
    ['203.0.113.0/33=1/1s', /bits from 0 to 32/],
    ['2001:db8::/129=1/1s', /bits from 0 to 128/],
    ['fe80::%eth0/64=1/1s', /network/],
    ['203.0.113.1/24=1/1s', /203\.0\.113\.1\/24", .* 203\.0\.113\.0\/24/],
    ['2001:db8::1/32=1/1s', /2001:db8::1\/32", .* 2001:db8::\/32/],
    ['2001:db8::/65=1/1s', /IPv6 .*\/64/],
    ['::ffff:203.0.113.0/120=1/1s', /write the IPv4 address as 203\.0\.113\.0/],
    ['2001:db8::/32=1/1s, 2001:DB8:0::/32=2/1s', /2001:db8::\/32 .*twice/],
    ['203.0.113.0/24=0/1s', /"0\/1s" is not a rate limit/],
    ['203.0.113.0/24=10/11s', /"10\/11s" is not a rate limit/],
    ['203.0.113.0/24=500/10s/all', /with \/total for one limit of the whole network/],
    ['203.0.113.0/24=500/10s/Total', /with \/total/],
    ['203.0.113.0/24=500/10s/total/total', /with \/total/],
    ['203.0.113.0/24=/total', /with \/total/],
    ['203.0.113.0/24=total', /with \/total/],
    ['203.0.113.0/24=500/10s, 203.0.113.0/24=1/1s/total', /203\.0\.113\.0\/24 appears twice/],
  ])('the overrides %j are refused, and the message references the entry and the rule', (overrides, rule) => {
    const parse = () => parseIpLimitOverrides(overrides);
    expect(parse).toThrow(rule);
    expect(parse).toThrow(`"${overrides.split(', ').at(-1)}": `);
  });
});
