import { describe, expect, test } from 'vitest';
import { clientAddress } from '../../src/domain/client-address.ts';
import { ipLimitOf, MAX_NETWORK_QUOTA, parseRequestLimit } from '../../src/domain/request-limit.ts';

const DEPLOYMENT = parseRequestLimit('1200/10s');

/** The object, its limit, and the subnet with its limit: `1/1s` for quota 1 in 1 s. */
function limitOf(address: string | undefined) {
  const limit = ipLimitOf(clientAddress(address), DEPLOYMENT);
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

  test("the limits never exceed the capacity of a network's log", () => {
    const { requestLimit } = ipLimitOf('2001:db8::1', parseRequestLimit('10000/10s'));
    expect(requestLimit.quota).toBe(MAX_NETWORK_QUOTA);
  });
});
