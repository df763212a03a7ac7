import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  EXPIRING_DAYS,
  findPastedKeys,
  generateKey,
  hashKey,
  isWellFormedKey,
  keyHint,
  keyState,
  whyUnauthorized,
} from '../../src/domain/api-key.ts';
import { DAY_MS } from '../../src/domain/calendar.ts';
import { formatScopes, parseScopes } from '../../src/domain/record-kinds.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('the key value', () => {
  test('a key value consists of the prefix, 40 random characters, and their CRC-32 in 6 base62 digits', () => {
    const key = generateKey('twb');
    expect(key).toMatch(/^twb_[0-9A-Za-z]{46}$/);
    const digits = [...key.slice(-6)].reduce((sum, digit) => sum * 62 + BASE62.indexOf(digit), 0);
    expect(digits).toBe(crc32(key.slice(0, -6)));
  });

  test('a key value contains every character equally often', () => {
    const counts = new Map<string, number>();
    const keys = 4_000;
    for (let i = 0; i < keys; i++) {
      for (const character of generateKey('twb').slice(4, -6)) counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    const expected = (keys * 40) / 62;
    const chiSquare = [...BASE62].reduce(
      (sum, character) => sum + ((counts.get(character) ?? 0) - expected) ** 2 / expected,
      0,
    );
    // With 61 degrees of freedom the probability of 120 is one in 100,000. A generator that kept
    // every byte would reach about 2,000.
    expect(chiSquare).toBeLessThan(120);
  });

  test('a key value is well formed only with the right prefix, length, alphabet and checksum', () => {
    const key = generateKey('twb');
    expect(isWellFormedKey(key, 'twb')).toBe(true);
    expect(isWellFormedKey(key, 'stg')).toBe(false);
    expect(isWellFormedKey(generateKey('stg'), 'twb')).toBe(false);
    expect(isWellFormedKey(key.slice(0, -1), 'twb')).toBe(false);
    expect(isWellFormedKey(`${key}0`, 'twb')).toBe(false);
    expect(isWellFormedKey(`${key.slice(0, -1)}-`, 'twb')).toBe(false);
    expect(isWellFormedKey('', 'twb')).toBe(false);
  });

  test('a change of any character changes the checksum', () => {
    const key = generateKey('twb');
    for (let i = 4; i < key.length; i++) {
      const wrong = BASE62.charAt((BASE62.indexOf(key.charAt(i)) + 1) % 62);
      expect(isWellFormedKey(key.slice(0, i) + wrong + key.slice(i + 1), 'twb')).toBe(false);
    }
  });

  test('a key value is stored as its SHA-256 and a hint of prefix, first four and last four characters', async () => {
    expect(await hashKey('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    const key = generateKey('twb');
    expect(keyHint(key)).toBe(`twb_${key.slice(4, 8)}…${key.slice(40, 44)}`);
  });
});

describe('a pasted text', () => {
  const value = generateKey('twb');
  const hint = keyHint(value);
  const ways: [string, (key: string) => string][] = [
    ['alone', (key) => key],
    ['with white space around', (key) => `\t${key}\r\n`],
    ['after Bearer', (key) => `bearer  ${key}`],
    ['as a header', (key) => `Authorization: Bearer ${key}`],
    ['as a header without white space', (key) => `authorization:${key}`],
    ['as a header in quotes', (key) => `'Authorization: Bearer ${key}'`],
    ['as a member of JSON', (key) => `"Authorization" : "Bearer ${key}",`],
    ['as a header whose key is in quotes', (key) => `Authorization: Bearer "${key}"`],
    ['in double quotes', (key) => `"${key}"`],
    ['in single quotes', (key) => `'${key}'`],
    ['in quotes with a comma after them', (key) => `"${key}",`],
    ['in quotes with a semicolon after them', (key) => `'${key}'; `],
    ['with a comma after it', (key) => `${key},`],
    ['with a semicolon after it', (key) => `Bearer ${key};`],
    ['in a line of a log', (key) => `09:41 INFO curl -H "Authorization: Bearer ${key}" https://x.example`],
    ['in another member of JSON', (key) => `{"id":7,"apiKey":"${key}"}`],
    ['in a URL', (key) => `https://x.example/?key=${key.replace('_', '%5F')}&a=b`],
    ['in a URL whose spaces are encoded', (key) => `auth=Bearer%20${key}&a=b`],
    ['in an encoded URL', (key) => `url=https%3A%2F%2Fx.example%2F%3Fkey%3D${key.replace('_', '%5F')}`],
    ['in a URL that is encoded in lower case', (key) => `key%3d${key.replace('_', '%5f')}%26a`],
    ['after an encoded line break in JSON', (key) => String.raw`{"log":"Bearer\n${key}\n"}`],
    ['after an encoded character in JSON', (key) => String.raw`{"url":"?a=1\u0026key=${key}","b":"\u003d${key}"}`],
    ['in the second of several lines', (key) => `POST /hook\r\nX-Api-Key: ${key}\r\nAccept: */*`],
  ];

  test.each(ways)('a key or a hint %s is recognized', async (_, paste) => {
    expect(await findPastedKeys(paste(value))).toEqual([{ hint, hash: await hashKey(value) }]);
    expect(await findPastedKeys(paste(hint))).toEqual([{ hint, hash: null }]);
    expect(await findPastedKeys(paste(hint.replace('…', '...')))).toEqual([{ hint, hash: null }]);
  });

  test('every key and hint of a text is found once, in its order, up to 20', async () => {
    const other = generateKey('twb');
    const text = `${hint} failed\n{"a":"${other}","b":"${value}"}\n${other} ${hint.replace('…', '...')}`;
    expect((await findPastedKeys(text)).map((key) => [key.hint, key.hash !== null])).toEqual([
      [hint, false],
      [keyHint(other), true],
      [hint, true],
    ]);
    const many = Array.from({ length: 30 }, () => generateKey('twb'));
    expect((await findPastedKeys(many.join(' '))).map((key) => key.hint)).toEqual(many.slice(0, 20).map(keyHint));
  });

  test('any other text is not recognized', async () => {
    const others = ['', '""', 'Bearer', 'Authorization: Bearer', 'Authorization: Basic dTpw', `${value}x`];
    expect(await Promise.all(others.map(findPastedKeys))).toEqual(others.map(() => []));
  });

  test('a whole key after other letters is recognized by its checksum', async () => {
    const found = [{ hint, hash: await hashKey(value) }];
    for (const before of ['x', 'Bearer', 'a'.repeat(40), '%2520', 'C:\\', '\u{1f511}0'])
      expect([before, await findPastedKeys(`${before}${value}`)]).toEqual([before, found]);
  });

  test.each(ways)('a truncated key %s is not recognized', async (_, paste) => {
    expect(await findPastedKeys(paste(value.slice(0, -1)))).toEqual([]);
    expect(await findPastedKeys(paste(value.slice(1)))).toEqual([]);
  });
});

test('scopes are stored in one order', () => {
  expect(formatScopes(['tickets:time:write', 'tickets:note:write'])).toBe('tickets:note:write tickets:time:write');
  expect(parseScopes('tickets:note:write tickets:time:write')).toEqual(['tickets:note:write', 'tickets:time:write']);
  expect(parseScopes('tickets:time:write')).toEqual(['tickets:time:write']);
});

describe('the validity of a key', () => {
  const key: Parameters<typeof whyUnauthorized>[0] = {
    revokedAt: null,
    expiresAt: 1_000,
    scopes: ['tickets:note:write'],
    allowedNetworks: '',
    organizationActive: true,
  };
  const address = '192.0.2.1';

  test('a key is refused from its expiry on, to the millisecond', () => {
    expect(whyUnauthorized(key, { now: 999, address })).toBeUndefined();
    expect(whyUnauthorized(key, { now: 1_000, address })).toBe('expired');
  });

  test('a revoked key is refused, even by a clock that is ahead', () => {
    expect(whyUnauthorized({ ...key, revokedAt: 5_000 }, { now: 0, address })).toBe('revoked');
  });
});

test('a key is expiring for 30 days before its expiry, then expired, and after a revocation always revoked', () => {
  const now = 1_000_000_000_000;
  const state = (expiresAt: number | null, revokedAt: number | null = null) => keyState({ expiresAt, revokedAt }, now);
  expect([state(null), state(now + EXPIRING_DAYS * DAY_MS + 1)]).toEqual(['active', 'active']);
  expect([state(now + EXPIRING_DAYS * DAY_MS), state(now + 1)]).toEqual(['expiring', 'expiring']);
  expect([state(now), state(now - 1)]).toEqual(['expired', 'expired']);
  expect([state(null, now + 5), state(now - 1, 0)]).toEqual(['revoked', 'revoked']);
});
