import { KEY_LENGTH } from '../domain/api-key.ts';

/** The regular expression of a complete key, for secret scanners. */
export function keyPattern(keyPrefixes: readonly string[]): string {
  const [prefix, ...others] = keyPrefixes;
  return `\\b${others.length === 0 ? prefix : `(?:${keyPrefixes.join('|')})`}_[0-9A-Za-z]{${KEY_LENGTH}}\\b`;
}

/** The rule that lets a scanner verify a match. */
export const CHECKSUM_RULE =
  'The last 6 characters are a checksum: the CRC-32 (as in zlib) of all preceding characters, including the prefix and the underscore. It is written in base 62 with the digits 0-9A-Za-z, most significant digit first, padded with 0.';

/** The checksum rule in Node.js. */
export const CHECKSUM_EXAMPLE = `import { crc32 } from 'node:zlib';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function isKey(value) {
  let rest = crc32(value.slice(0, -6));
  let checksum = '';
  for (let i = 0; i < 6; i++) {
    checksum = DIGITS[rest % 62] + checksum;
    rest = Math.floor(rest / 62);
  }
  return value.endsWith(checksum);
}`;
