/** This many characters after the prefix of the deployment count as part of a key value, which must not be shown. */
const MIN_PART = 12;
/** Most of a key value: one more than a UUID without hyphens, which people use after a prefix. */
const MIN_KEY = 33;
const REMOVED = '[removed]';

/** A key value of the deployment with this prefix, of which at least so many characters follow. URLs encode `_`. */
const pattern = (prefix: string, least: number, flags = '') =>
  new RegExp(`(${prefix}(?:_|%5[Ff]))[0-9A-Za-z]{${least},}`, flags);

/** Replaces the secret of each key value, whole or truncated, by `[removed]`. Hints stay. */
export function withoutKeys(text: string, prefix: string): string {
  // Most texts contain no key: do not build the pattern for them.
  return text.includes(prefix) ? text.replaceAll(pattern(prefix, MIN_PART, 'g'), `$1${REMOVED}`) : text;
}

export function jsonWithoutKeys(value: unknown, prefix: string): string {
  return JSON.stringify(value, (_, one: unknown) => (typeof one === 'string' ? withoutKeys(one, prefix) : one));
}

/** Whether the text contains most of a key value. */
export const containsKey = (text: string, prefix: string): boolean =>
  text.includes(prefix) && pattern(prefix, MIN_KEY).test(text);

/** The key values in the text, whole or truncated, with at least the characters that a hint begins with; no hints. */
export const keyParts = (text: string, prefix: string): string[] =>
  Array.from(
    text.matchAll(new RegExp(`${prefix}(?:_|%5[Ff])([0-9A-Za-z]{4,})(?![0-9A-Za-z]|…|\\.{3}|\\\\u2026)`, 'g')),
    ([, secret]) => `${prefix}_${secret}`,
  );
