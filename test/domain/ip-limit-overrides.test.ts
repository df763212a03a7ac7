import { describe, expect, test } from 'vitest';
import { findOverride, parseIpLimitOverrides } from '../../src/domain/ip-limit.ts';

describe('the limits of networks', () => {
  test('a request gets the limit of its most specific network', () => {
    const overrides = parseIpLimitOverrides(
      '0.0.0.0/0=1/1s, 203.0.113.0/24 = 5000/10s,203.0.113.7/32=9/9s, 2001:db8::/32=100/1s,2001:DB8:1::/64=7/7s',
    );
    const limit = (address: string | null) => findOverride(overrides, address)?.requestLimit.quota;
    expect(limit('203.0.113.7')).toBe(9);
    expect(limit('203.0.113.8')).toBe(5_000);
    expect(limit('::ffff:203.0.113.8')).toBe(5_000);
    expect(limit('198.51.100.1')).toBe(1);
    expect(limit('2001:db8:1:0:ffff::1')).toBe(7);
    expect(limit('2001:db8:1:1::1')).toBe(100);
    expect(limit('2001:db9::1')).toBeUndefined();
    expect(limit(null)).toBeUndefined();
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
  ])('the overrides %j are refused, and the message references the entry and the rule', (overrides, rule) => {
    const parse = () => parseIpLimitOverrides(overrides);
    expect(parse).toThrow(rule);
    expect(parse).toThrow(`"${overrides.split(', ').at(-1)}": `);
  });
});
