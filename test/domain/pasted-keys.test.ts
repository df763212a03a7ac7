import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { brokenKeys, generateKey, keyHint } from '../../src/domain/api-key.ts';
import { containsKey, withoutKeys } from '../../src/domain/pasted-keys.ts';
import { runs } from '../support/property.ts';

const own = generateKey('twb');
const other = generateKey('staging2');

describe('a key value', () => {
  const places: [string, (key: string) => string][] = [
    ['alone', (key) => key],
    ['with its underscore encoded', (key) => key.replace('_', '%5f')],
    ['after a workflow', (key) => `triage:${key}`],
    ['in the middle', (key) => `triage:${key}:2`],
    ['after an encoded space', (key) => `Bearer%20${key}`],
    ['before an encoded quote', (key) => `${key.replace('_', '%5F')}%22`],
    ['after letters', (key) => `x${key}`],
    ['after a path', (key) => `https://api.example/v1?key=${key}&x=1`],
  ];

  test.each(places)('%s is refused in an Idempotency-Key and removed from other texts', (_, place) => {
    const text = place(own);
    expect([text, containsKey(text, 'twb')]).toEqual([text, true]);
    const cleaned = withoutKeys(text, 'twb');
    expect(cleaned).toContain('[removed]');
    expect(containsKey(cleaned, 'twb')).toBe(false);
    const secret = own.slice('twb_'.length);
    for (let from = 0; from + 12 <= secret.length; from++) expect(cleaned).not.toContain(secret.slice(from, from + 12));
  });

  test('a key value is removed from a text, and the other text stays', () => {
    expect(withoutKeys(`a ${own} b ${own}; caf%C3%A9 (x)`, 'twb')).toBe(
      'a twb_[removed] b twb_[removed]; caf%C3%A9 (x)',
    );
    expect(withoutKeys(`${own.replace('_', '%5F')}%0A%00`, 'twb')).toBe('twb%5F[removed]%0A%00');
  });

  test.each([1, 11, 12, 30, 46, 60])(
    'a key value that is cut off is removed if at least 12 characters of its secret remain: %i',
    (length) => {
      const value = `${own}${'x'.repeat(20)}`.slice(0, 'twb_'.length + length);
      expect(withoutKeys(`a ${value}, b ${value}`, 'twb')).toBe(
        length >= 12 ? 'a twb_[removed], b twb_[removed]' : `a ${value}, b ${value}`,
      );
    },
  );

  test('values that are cut off or mistyped are found once each, and no hints', () => {
    const [cut, short] = [own.slice(0, -1), own.slice(0, 20)];
    const hints = ['…', '...', '\\u2026'].map((dots) => keyHint(own).replace('…', dots));
    const text = `${own} ${own.replace('_', '%5F')} ${hints.join(' ')} ${cut} ${cut.replace('_', '%5f')} ${short} ${own}x twb_abc twb_abcd`;
    expect(brokenKeys(text, 'twb', false)).toEqual([cut, short, `${own}x`, 'twb_abcd']);
    expect(brokenKeys(text, 'twb', true)).toEqual([cut, short, `${own}x`]);
    expect(brokenKeys(`${own} ${other.slice(0, -1)}`, 'twb', false)).toEqual([]);
  });

  test.each([4, 8, 16, 26, 46])('a value of %i characters is cut off, also before dots', (length) => {
    const cut = `twb_${'a1'.repeat(23)}`.slice(0, 4 + length);
    for (const after of ['…', '...', '\\u2026', '… ', '...x', '…"'])
      expect(brokenKeys(cut + after, 'twb', false)).toEqual([cut]);
  });

  test('a key value of another deployment is a text like any other', () => {
    expect([containsKey(other, 'twb'), withoutKeys(other, 'twb')]).toEqual([false, other]);
    expect([containsKey(other, 'staging2'), withoutKeys(other, 'staging2')]).toEqual([true, 'staging2_[removed]']);
  });
});

test('ids of other services are not keys, whatever their prefix and length', () => {
  const characters = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_'];
  const id = fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 200 });
  const prefix = fc.constantFrom('', 'evt_', 'cs_live_', 'resp_', 'sha256_', 'req_', 'stg_');
  fc.assert(
    fc.property(fc.constantFrom('', 'triage:', 'a/b:'), prefix, id, fc.constantFrom('', ':2'), (...parts) => {
      const text = parts.join('');
      expect([text, containsKey(text, 'twb'), withoutKeys(text, 'twb')]).toEqual([text, false, text]);
    }),
    { numRuns: runs('ids that are no keys', 5_000) },
  );
});

test('after the prefix of this deployment, a UUID or a shorter id is allowed and most of a key is not', () => {
  for (const id of [crypto.randomUUID(), crypto.randomUUID().replaceAll('-', ''), 'invoice20418and20419'])
    expect([id, containsKey(`twb_${id}`, 'twb'), containsKey(`twb%5F${id}`, 'twb')]).toEqual([id, false, false]);
  for (let length = 33; length <= 46; length++)
    expect([length, containsKey(own.slice(0, 'twb_'.length + length), 'twb')]).toEqual([length, true]);
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

test('a key is found at any place in a text', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 120 }), fc.string({ maxLength: 60 }), (before, after) => {
      const text = `${before}${own}${after}`;
      expect([text, containsKey(text, 'twb')]).toEqual([text, true]);
      expect(withoutKeys(text, 'twb')).not.toContain(own.slice(-46));
    }),
    { numRuns: runs('keys anywhere in a text', 2_000) },
  );
});
