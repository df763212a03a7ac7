import { KEY_LENGTH } from '../domain/api-key.ts';

/** The regular expression of a complete key, for secret scanners. */
export function keyPattern(keyPrefixes: readonly string[]): string {
  const [prefix, ...others] = keyPrefixes;
  return `\\b${others.length === 0 ? prefix : `(?:${keyPrefixes.join('|')})`}_[0-9A-Za-z]{${KEY_LENGTH}}\\b`;
}
