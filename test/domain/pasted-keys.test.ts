import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { generateKey, keyHint } from '../../src/domain/api-key.ts';
import { containsKey, withoutKeys } from '../../src/domain/pasted-keys.ts';
import { runs } from '../support/property.ts';

const own = generateKey('twb');
const other = generateKey('staging2');
/** What comes after the prefix: the secret. */
const secretOf = (key: string) => key.slice(key.indexOf('_') + 1);
const ownBare = secretOf(own);
const percentEncoded = (text: string) =>
  [...text].map((character) => `%${character.charCodeAt(0).toString(16)}`).join('');

describe('a key value', () => {
  const ways: [way: string, encode: (key: string) => string, key: string][] = [
    ['of this deployment', (key) => key, own],
    ['of another deployment', (key) => key, other],
    ['of one with a long prefix', (key) => key, generateKey('abcdefghijklmnop')],
    ['of one with a short prefix', (key) => key, generateKey('ab')],
    ['without its prefix', secretOf, own],
    ['with its underscore encoded', (key) => key.replace('_', '%5F'), own],
    ['of another deployment with its underscore encoded', (key) => key.replace('_', '%5f'), other],
    ['encoded as a whole', percentEncoded, own],
    ['of another deployment encoded as a whole', percentEncoded, other],
    ['without its prefix, encoded as a whole', (key) => percentEncoded(secretOf(key)).toUpperCase(), own],
    ['encoded twice', (key) => key.replace('_', '%255F'), own],
  ];
  const places: [string, (key: string) => string][] = [
    ['alone', (key) => key],
    ['after a workflow', (key) => `triage:${key}`],
    ['in the middle', (key) => `triage:${key}:2`],
    ['after an encoded space', (key) => `Bearer%20${key}`],
    ['before an encoded quote', (key) => `${key}%22`],
    ['after letters', (key) => `x${key}`],
    ['after a path', (key) => `https://api.example/v1?key=${key}&x=1`],
  ];

  describe.each(ways)('the key %s', (_, encode, key) => {
    test.each(places)('%s is refused in an Idempotency-Key and removed from other texts', (_, place) => {
      const text = place(encode(key));
      expect([text, containsKey(text, 'twb')]).toEqual([text, true]);
      const cleaned = withoutKeys(text, 'twb');
      expect(cleaned).toContain('[removed]');
      expect(containsKey(cleaned, 'twb')).toBe(false);
      const secret = secretOf(key);
      for (let from = 0; from + 12 <= secret.length; from++)
        expect(cleaned).not.toContain(secret.slice(from, from + 12));
    });
  });

  test('a key value is removed from a text, and the other text stays', () => {
    expect(withoutKeys(`flow ${other}; caf%C3%A9 (x)`, 'twb')).toBe('flow staging2_[removed]; caf%C3%A9 (x)');
    expect(withoutKeys(`flow ${other.slice(0, -6)} without checksum`, 'twb')).toBe(
      'flow staging2_[removed] without checksum',
    );
    expect(withoutKeys(`flow ${ownBare}; x`, 'twb')).toBe('flow [removed]; x');
    expect(withoutKeys(`a ${own} b ${other} c ${ownBare}`, 'twb')).toBe(
      'a twb_[removed] b staging2_[removed] c [removed]',
    );
    expect(withoutKeys(`twb%5F${ownBare}%0A%00`, 'twb')).toBe('twb%5F[removed]%0A%00');
    expect(withoutKeys(`%00%7F${other.replace('_', '%5F')}%0A%3C`, 'twb')).toBe('%00%7Fstaging2_[removed]%0A%3C');
  });

  test.each([1, 11, 12, 30, 46, 60])(
    'a key value that is cut off is removed if at least 12 characters of its secret remain: %i',
    (length) => {
      const value = `${own}${'x'.repeat(20)}`.slice(0, 'twb_'.length + length);
      const removed = length >= 12;
      expect(withoutKeys(`a ${value}, b ${value}`, 'twb')).toBe(
        removed ? 'a twb_[removed], b twb_[removed]' : `a ${value}, b ${value}`,
      );
      // With the prefix of another deployment, from 40 characters on.
      expect(withoutKeys(value, 'stg')).toBe(length >= 40 ? 'twb_[removed]' : value);
    },
  );

  test('a key value without its prefix is detected only if its checksum fits the prefix of this deployment', () => {
    const otherBare = secretOf(other);
    expect(containsKey(otherBare, 'twb')).toBe(false);
    expect(withoutKeys(otherBare, 'twb')).toBe(otherBare);
    expect(containsKey(otherBare, 'staging2')).toBe(true);
  });
});

describe('a Basic credential', () => {
  test.each([
    ['a key as the password', `Basic ${btoa(`n8n:${own}`)}`, 'Basic [removed]'],
    ['a key as the name', `Basic ${btoa(`${own}:`)}`, 'Basic [removed]'],
    ['a key alone', `Basic ${btoa(own)}`, 'Basic [removed]'],
    ['a key of another deployment', `basic  ${btoa(`x:${other}`)}`, 'basic  [removed]'],
    ['a key without its prefix', `Basic ${btoa(`x:${ownBare}`)}`, 'Basic [removed]'],
    ['a part of a key', `Basic ${btoa(own.slice(0, 20))}`, 'Basic [removed]'],
    ['a key, cut off', `Basic ${btoa(`x:${own}`).slice(0, 41)}`, 'Basic [removed]'],
    [
      'a key in base64url',
      `Basic ${btoa(`~~~???:${own}`).replaceAll('+', '-').replaceAll('/', '_')}`,
      'Basic [removed]',
    ],
    ['a key among others', `a Basic ${btoa(`x:${own}`)}; b`, 'a Basic [removed]; b'],
  ])('a Basic credential with %s is removed', (_, text, cleaned) => {
    expect(withoutKeys(text, 'twb')).toBe(cleaned);
  });

  test.each([
    `Basic ${btoa('user:correct horse battery staple')}`,
    'Visual Basic 6.0',
    'Basic',
    'Basic aaaaaaaaaaaaaaaaa',
  ])('a Basic credential without a key stays: %s', (text) => {
    expect(withoutKeys(text, 'twb')).toBe(text);
  });
});

const CHARACTERS = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'];
const of = (alphabet: string[], minLength: number, maxLength = minLength) =>
  fc.string({ unit: fc.constantFrom(...alphabet), minLength, maxLength });
const HEX = CHARACTERS.filter((character) => /[0-9a-f]/.test(character));

test('ids of other services are not keys, whatever their prefix and length', () => {
  const id = fc.oneof(
    of(CHARACTERS, 1, 200),
    of(HEX, 32, 128),
    of([...CHARACTERS, '-', '_'], 20, 200),
    fc.uuid().map((uuid) => uuid.replaceAll('-', '')),
  );
  const prefix = fc.constantFrom('', 'evt_', 'cs_live_', 'resp_', 'sha256_', 'req_', 'stg_');
  fc.assert(
    fc.property(fc.constantFrom('', 'triage:', 'a/b:'), prefix, id, fc.constantFrom('', ':2'), (...parts) => {
      const key = parts.join('');
      expect([key, containsKey(key, 'twb')]).toEqual([key, false]);
    }),
    { numRuns: runs('ids that are no keys', 5_000) },
  );
});

test('after the prefix of this deployment, a UUID or a shorter id is allowed and most of a key is not', () => {
  for (const id of [crypto.randomUUID(), crypto.randomUUID().replaceAll('-', ''), 'invoice20418and20419']) {
    expect([id, containsKey(`twb_${id}`, 'twb'), containsKey(`twb%5F${id}`, 'twb')]).toEqual([id, false, false]);
  }
  for (let length = 33; length <= 46; length++) {
    expect([length, containsKey(own.slice(0, 'twb_'.length + length), 'twb')]).toEqual([length, true]);
  }
});

test('a text without a key stays unchanged, even with a hint in it', () => {
  const texts = [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
    'n8n/2.1',
    `hint ${keyHint(own)}`,
    '100%41 %zz %4 %',
    'x'.repeat(1_000),
    '',
  ];
  expect(texts.map((text) => withoutKeys(text, 'twb'))).toEqual(texts);
});

test('a key is removed even if it begins like the second digit of an encoded character', () => {
  let key = '';
  while (!/^[0-9A-F]/.test(key)) key = secretOf(generateKey('twb'));
  expect(withoutKeys(`%4${key}`, 'twb')).toBe('%4[removed]');
  expect(containsKey(`%4${key}`, 'twb')).toBe(true);
});

test('a key is found at any place in a text', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(own, other, ownBare),
      fc.string({ maxLength: 120 }),
      fc.string({ maxLength: 60 }),
      (key, a, b) => {
        const text = `${a.replace(/\w+$/, '')}${key}${b.replace(/^\w+/, '')}`;
        expect([text, containsKey(text, 'twb')]).toEqual([text, true]);
        expect(withoutKeys(text, 'twb')).not.toContain(key.slice(-46));
      },
    ),
    { numRuns: runs('keys anywhere in a text', 2_000) },
  );
});
