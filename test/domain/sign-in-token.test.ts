import { describe, expect, test } from 'vitest';
import { provenEmail } from '../../src/domain/sign-in-token.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const SECONDS = NOW / 1000;
const DAY = 24 * 3600;
const ACCESS = 'https://northwind.cloudflareaccess.com';
const OTHER = 'https://idp.example';
const good = { exp: SECONDS + 60, email: 'ada@northwind.example', email_verified: true };

const email = (changes: Parameters<typeof provenEmail>[0], issuer = OTHER) =>
  provenEmail({ ...good, ...changes }, issuer, NOW);

test('a verified address is accepted in lower case', () => {
  expect(email({ email: 'Ada@Northwind.Example' })).toBe('ada@northwind.example');
});

describe('without email_verified', () => {
  test('an address from Cloudflare Access is accepted', () => {
    expect(email({ email_verified: undefined }, ACCESS)).toBe('ada@northwind.example');
  });

  test.each([
    OTHER,
    'http://northwind.cloudflareaccess.com',
    'https://cloudflareaccess.com',
    'https://a.b.cloudflareaccess.com',
    'https://northwind.cloudflareaccess.com/',
    'https://northwind.cloudflareaccess.com/cdn-cgi/access/sso/oidc/x',
    'https://northwind.cloudflareaccess.com:8443',
    'https://northwind.cloudflareaccess.com.example',
    'https://northwind-cloudflareaccess.com',
    'https://northwindxcloudflareaccess.com',
    'https://idp.example/?.cloudflareaccess.com',
    'https://user@northwind.cloudflareaccess.com',
    `${ACCESS}\nhttps://idp.example`,
    `https://idp.example\n${ACCESS}`,
  ])('an address from the issuer %j is refused', (issuer) => {
    expect(email({ email_verified: undefined }, issuer)).toBeUndefined();
  });
});

test.each([false, 'true', 1, null])('a token with email_verified: %j is refused from every issuer', (verified) => {
  for (const issuer of [ACCESS, OTHER]) expect(email({ email_verified: verified }, issuer)).toBeUndefined();
});

test.each([
  undefined,
  null,
  42,
  ['ada@northwind.example'],
  '',
  'ada',
  '@northwind.example',
  'ada@northwind',
  'ada@northwind.example ',
  'ada@northwind.example, bea@northwind.example',
  'Ada <ada@northwind.example>',
  // Kelvin sign, whose lower case is the ASCII letter k.
  'fay@fabri\u212aam.example',
  // Dotted capital I, whose lower case begins with the ASCII letter i.
  'f\u0130y@fabrikam.example',
  'ada@n\u00f6rthwind.example',
  '\u0430da@northwind.example',
  'ada@northwind.example\u200b',
  `${'a'.repeat(243)}@northwind.example`,
])('the value %j is no address', (address) => {
  expect(email({ email: address })).toBeUndefined();
});

describe('the lifetime of a token', () => {
  const lives = (claims: { exp?: number; iat?: number }) => email(claims) !== undefined;

  test('the lifetime is at most 31 days from the time of issue', () => {
    expect(lives({ iat: SECONDS - 5 * DAY, exp: SECONDS + 26 * DAY })).toBe(true);
    expect(lives({ iat: SECONDS - 5 * DAY, exp: SECONDS + 26 * DAY + 1 })).toBe(false);
  });

  test('the lifetime counts from now if the token contains no time of issue, or a time in the future', () => {
    for (const iat of [{}, { iat: SECONDS + 10 * DAY }]) {
      expect(lives({ ...iat, exp: SECONDS + 31 * DAY })).toBe(true);
      expect(lives({ ...iat, exp: SECONDS + 31 * DAY + 1 })).toBe(false);
    }
    expect(lives({ iat: 1e300 - 1, exp: 1e300 })).toBe(false);
    expect(lives({ exp: 1e300 })).toBe(false);
  });
});
