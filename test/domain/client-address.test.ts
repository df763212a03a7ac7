import { describe, expect, test } from 'vitest';
import { addressGroup, clientAddress } from '../../src/domain/client-address.ts';

describe('an address group', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['255.249.199.99', '255.249.199.99'],
    ['0.0.0.0', '0.0.0.0'],
    ['256.0.0.1', 'none'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::', '2001:db8:1:3::/64'],
    ['not an address', 'none'],
    ['192.0.2.7, 192.0.2.8', 'none'],
    [`fe80::1%${'x'.repeat(1_000)}`, 'none'],
    ['', 'none'],
    [undefined, 'none'],
  ])('the header %j gives the address group %j', (header, group) => {
    expect(addressGroup(clientAddress(header))).toBe(group);
  });
});
