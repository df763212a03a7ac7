import { describe, expect, test } from 'vitest';
import { parseConfig, unknownVariables } from '../src/config.ts';
import { generateKey, keyHint } from '../src/domain/api-key.ts';
import { findOverride, parseIpLimitOverrides } from '../src/domain/ip-limit-overrides.ts';
import { stricter } from '../src/domain/rate-limit.ts';

const vars = {
  KEY_PREFIX: 'twb',
  IP_LIMIT: '1200/10s',
  KEY_LIMIT: '200/10s',
  IP_LIMIT_OVERRIDES: '',
  ADMIN_ISSUER: '',
  ADMIN_AUDIENCE: '',
  ADMIN_JWKS_URL: '',
  ADMIN_TOKEN_HEADER: '',
};

describe('the settings', () => {
  test('are read from the variables; without issuer and audience nobody signs in', () => {
    expect(parseConfig(vars)).toEqual({
      keyPrefix: 'twb',
      ipLimit: { quota: 1200, windowMs: 10_000 },
      ipLimitOverrides: [],
      keyLimit: { quota: 200, windowMs: 10_000 },
      blockedKeys: new Set(),
      mode: 'open',
      signIn: undefined,
    });
  });

  test.each([
    [{ KEY_PREFIX: 'TWB' }, 'KEY_PREFIX is "TWB"'],
    [{ KEY_PREFIX: '' }, 'KEY_PREFIX is ""'],
    [{ IP_LIMIT: '0/10s' }, 'IP_LIMIT: "0/10s" is not a rate limit'],
    [{ KEY_LIMIT: '200/60s' }, 'KEY_LIMIT: "200/60s" is not a rate limit'],
    [{ MODE: 'Paused' }, 'MODE: its value is not a mode; write open or paused'],
    [{ ADMIN_ISSUER: 'https://team.example' }, 'ADMIN_AUDIENCE is empty'],
    [{ ADMIN_AUDIENCE: 'aud' }, 'ADMIN_ISSUER is empty'],
    [
      { ADMIN_ISSUER: 'https://team.example', ADMIN_AUDIENCE: 'aud', ADMIN_JWKS_URL: 'certs' },
      'ADMIN_JWKS_URL: "certs" is not a URL',
    ],
    [
      { ADMIN_ISSUER: 'https://team.example', ADMIN_AUDIENCE: 'aud', ADMIN_TOKEN_HEADER: 'a b' },
      'ADMIN_TOKEN_HEADER: "a b"',
    ],
  ])('%j stop the start, and the message names variable and rule', (wrong, message) => {
    expect(() => parseConfig({ ...vars, ...wrong })).toThrow(message);
  });
});

test.each([
  ['KEY_LIMT', 'KEY_LIMIT'],
  ['KEYLIMIT', 'KEY_LIMIT'],
  ['key_limit', 'KEY_LIMIT'],
  ['BLOCKED_KEY', 'BLOCKED_KEYS'],
  ['IP_LIMITS', 'IP_LIMIT'],
  ['Mode', 'MODE'],
  ['CODE', undefined],
  ['DB', undefined],
  ['RATE_LIMITER', undefined],
  ['GREETING', undefined],
])('%s is no variable, and probably means %s', (name, nearest) => {
  expect(unknownVariables(['KEY_LIMIT', name, 'MODE'])).toEqual([{ name, nearest }]);
});

describe('the mode', () => {
  test.each([
    ['', 'open'],
    ['open', 'open'],
    ['paused', 'paused'],
  ])('%j is %s', (MODE, mode) => {
    expect(parseConfig({ ...vars, MODE }).mode).toBe(mode);
  });
});

describe('the list of blocked keys', () => {
  const id = '01a3b2c4-5d6e-7f80-9a1b-2c3d4e5f6071';
  const parse = (BLOCKED_KEYS: string) => [...parseConfig({ ...vars, BLOCKED_KEYS }).blockedKeys];

  test('takes ids and hints, separated by commas or white space, and three dots for the one character', () => {
    expect(parse(` ${id.toUpperCase()},twb_Ab12…x9Yz\n\ttwb_0000...zzzz , `)).toEqual([
      id,
      'twb_Ab12…x9Yz',
      'twb_0000…zzzz',
    ]);
    expect(parse('')).toEqual([]);
  });

  test('refuses a whole key value, says which hint to use, and does not repeat the value', () => {
    const value = generateKey('twb');
    const start = () => parse(`${id} ${value}`);
    expect(start).toThrow(`BLOCKED_KEYS: entry 2 of 2 is a whole key value; use its hint, ${keyHint(value)}`);
    expect(start).not.toThrow(value.slice(4, 12));
  });

  test.each([
    ['a key of another deployment', generateKey('stg')],
    ['a key with a piece missing', generateKey('twb').slice(0, -1)],
    ['a hint of another deployment', 'stg_Ab12…x9Yz'],
    ['a hint with a piece missing', 'twb_Zz98…'],
    ['a name', 'triage'],
    ['an id with a piece missing', id.slice(1)],
  ])('refuses %s, which would block nothing, and does not repeat it', (_, entry) => {
    const start = () => parse(`${entry}, ${id}`);
    expect(start).toThrow('BLOCKED_KEYS: entry 1 of 2 is neither a key id nor a hint such as twb_Ab12…x9Yz');
    expect(start).not.toThrow(entry);
  });
});

describe('the limits for networks', () => {
  test('are tried from the most specific network on', () => {
    const overrides = parseIpLimitOverrides(
      '0.0.0.0/0=1/1s, 203.0.113.0/24 = 5000/10s,203.0.113.7/32=9/9s, 2001:db8::/32=100/1s,2001:DB8:1::/64=7/7s',
    );
    const limit = (address: string | null) => findOverride(overrides, address)?.policy.quota;
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
    ['203.0.113.0/24', 'write network=limit such as "203.0.113.0/24=5000/10s"'],
    ['203.0.113.0/24=1/1s=2/2s', 'write network=limit'],
    ['203.0.113.0=1/1s', '203.0.113.0 is not a network; write address/bits such as 203.0.113.0/24'],
    ['203.0.113/24=1/1s', '203.0.113/24 is not a network'],
    ['203.0.113.010/32=1/1s', 'is not a network'],
    ['203.0.113.0/33=1/1s', 'is not a network'],
    ['2001:db8::/129=1/1s', 'is not a network'],
    ['fe80::%eth0/64=1/1s', 'is not a network'],
    ['203.0.113.1/24=1/1s', '203.0.113.1/24 has bits set after its network part; write 203.0.113.0/24'],
    ['2001:db8::1/32=1/1s', '2001:db8::1/32 has bits set after its network part; write 2001:db8::/32'],
    ['2001:db8::/65=1/1s', 'IPv6 addresses are limited per /64; write a network of that size or larger'],
    ['::ffff:203.0.113.0/120=1/1s', 'IPv6 addresses are limited per /64'],
    ['2001:db8::/32=1/1s, 2001:DB8:0::/32=2/1s', '2001:db8::/32 appears twice'],
    ['203.0.113.0/24=0/1s', '"0/1s" is not a rate limit; write quota/window'],
    ['203.0.113.0/24=10/11s', '"10/11s" is not a rate limit'],
  ])('%j stops the start, and the message names entry and rule', (IP_LIMIT_OVERRIDES, rule) => {
    const start = () => parseConfig({ ...vars, IP_LIMIT_OVERRIDES });
    expect(start).toThrow(rule);
    expect(start).toThrow(`IP_LIMIT_OVERRIDES: "${IP_LIMIT_OVERRIDES.split(', ').at(-1)}": `);
  });
});

test("of a key's own limit and the deployment's the stricter one acts", () => {
  const deployment = { quota: 200, windowMs: 10_000 };
  expect(stricter(null, deployment)).toBe(deployment);
  expect(stricter({ quota: 5, windowMs: 1_000 }, deployment)).toEqual({ quota: 5, windowMs: 1_000 });
  expect(stricter({ quota: 500, windowMs: 10_000 }, deployment)).toBe(deployment);
  expect(stricter({ quota: 100, windowMs: 1_000 }, deployment)).toBe(deployment);
});
