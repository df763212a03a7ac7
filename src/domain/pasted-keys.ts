import { isWellFormedKey, KEY_LENGTH, RANDOM_LENGTH } from './api-key.ts';

/** This many characters after the prefix of this deployment count as part of a key value, which must not be shown. */
const MIN_OWN_PART = 12;
/** Most of a key value: one more than a UUID without hyphens, which people use after a prefix. */
const MIN_OWN_KEY = 33;
/** A key value of any deployment, with or without its checksum. */
const ANY_KEY = /(?<=[a-z0-9]_)[0-9A-Za-z]{40,}/g;
/** Long enough to contain a key value without its prefix. */
const LONG_RUN = /[0-9A-Za-z]{46,}/g;
/** A Basic credential (RFC 7617) in base64 or base64url. */
const BASIC_CREDENTIAL = /\b(Basic\s+)([\w+/-]{16,})=*/gi;
const REMOVED = '[removed]';

/**
 * Replaces everything that looks like a key value by `[removed]`; hints stay. With the prefix of this deployment, that
 * includes truncated values and values without the prefix; of others, the prefix with at least the random part.
 * Percent-encoded values and values in Basic credentials are also found. The cost grows with the length: truncate long
 * texts first.
 */
export function withoutKeys(text: string, prefix: string): string {
  if (text.length < MIN_OWN_PART) return text;
  const withoutBasic = text.replace(BASIC_CREDENTIAL, (whole: string, scheme: string, credential: string) => {
    const decoded = fromBase64(credential);
    return withoutPlainKeys(decoded, prefix) === decoded ? whole : scheme + REMOVED;
  });
  const plain = withoutPlainKeys(withoutBasic, prefix);
  if (!plain.includes('%')) return plain;
  const decoded = percentDecoded(plain);
  const cleaned = withoutPlainKeys(decoded, prefix);
  // Return the decoded text only if it contained a key.
  return cleaned === decoded ? plain : cleaned;
}

export function jsonWithoutKeys(value: unknown, prefix: string): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === 'string' ? withoutKeys(one, prefix) : one));
}

function withoutPlainKeys(text: string, prefix: string): string {
  // Most texts contain no key: do not build the pattern for them.
  const withoutOwn = text.includes(`${prefix}_`)
    ? text.replaceAll(new RegExp(`(?<=${prefix}_)[0-9A-Za-z]{${MIN_OWN_PART},}`, 'g'), REMOVED)
    : text;
  if (!hasBase62Run(withoutOwn, RANDOM_LENGTH)) return withoutOwn;
  return withoutOwn.replaceAll(ANY_KEY, REMOVED).replaceAll(LONG_RUN, (run) => {
    if (fitsPrefix(run.slice(0, KEY_LENGTH), prefix)) return REMOVED + run.slice(KEY_LENGTH);
    return fitsPrefix(run.slice(-KEY_LENGTH), prefix) ? run.slice(0, -KEY_LENGTH) + REMOVED : run;
  });
}

/**
 * Whether the text contains a key value, percent-encoded or not. With the prefix of this deployment,
 * values without the prefix and most of a value count; of others, whole values. The checksum distinguishes them from ids of other
 * services, such as `resp_` with 48 hex digits.
 */
export function containsKey(text: string, prefix: string): boolean {
  if (text.length < MIN_OWN_KEY) return false;
  return containsPlainKey(text, prefix) || (text.includes('%') && containsPlainKey(percentDecoded(text), prefix));
}

function containsPlainKey(text: string, prefix: string): boolean {
  if (text.includes(`${prefix}_`) && new RegExp(`${prefix}_[0-9A-Za-z]{${MIN_OWN_KEY}}`).test(text)) return true;
  if (!hasBase62Run(text, KEY_LENGTH)) return false;
  for (const { 0: run, index } of text.matchAll(LONG_RUN)) {
    const start = run.slice(0, KEY_LENGTH);
    if (fitsPrefix(start, prefix) || fitsPrefix(run.slice(-KEY_LENGTH), prefix)) return true;
    // Other text may touch the prefix, so try every suffix of the word before the underscore.
    const [word = ''] = /[a-z0-9]{2,16}(?=_$)/.exec(text.slice(Math.max(0, index - 17), index)) ?? [];
    for (let from = 0; from <= word.length - 2; from++) if (fitsPrefix(start, word.slice(from))) return true;
  }
  return false;
}

/** Whether the prefix followed by these characters is a key value with a correct checksum. */
const fitsPrefix = (characters: string, prefix: string) => isWellFormedKey(`${prefix}_${characters}`, prefix);

/** Decodes only the characters that a key value can contain, so that no control character appears. */
function percentDecoded(text: string): string {
  return text.replaceAll(/%([3-7][0-9A-Fa-f])/g, (encoded, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /\w/.test(character) ? character : encoded;
  });
}

/** Whether the text has `length` consecutive letters and digits. Looks at every `length`-th character first. */
function hasBase62Run(text: string, length: number): boolean {
  for (let last = length - 1; last < text.length; ) {
    let first = last;
    while (last - first < length && isBase62(text.charCodeAt(first))) first -= 1;
    if (last - first === length) return true;
    last = first + length;
  }
  return false;
}

const isBase62 = (code: number) =>
  (code >= 0x30 && code <= 0x39) || (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);

/** Decodes base64 or base64url without padding; ignores characters at the end that do not form whole bytes. */
function fromBase64(text: string): string {
  return atob(
    text
      .slice(0, text.length - (text.length % 4))
      .replaceAll('-', '+')
      .replaceAll('_', '/'),
  );
}
