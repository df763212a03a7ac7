/** This many characters after the prefix of the deployment count as part of a key value, which must not be shown. */
export const MIN_PART = 12;
/** Most of a key value: one more than a UUID without hyphens, which people use after a prefix. */
const MIN_KEY = 33;
const REMOVED = '[removed]';
/** What a hint has after the prefix. Some JSON encodes `…`. */
const HINT = String.raw`[0-9A-Za-z]{4}(?:…|\.{3}|\\u2026)[0-9A-Za-z]{4}(?![0-9A-Za-z])`;

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

/** The key values in the text, whole or truncated, of at least so many characters after the prefix, but no hints. */
export const keyParts = (text: string, prefix: string, least: number): string[] =>
  Array.from(
    text.matchAll(new RegExp(`${prefix}(?:_|%5[Ff])(?!${HINT})([0-9A-Za-z]{${least},})`, 'g')),
    ([, secret]) => `${prefix}_${secret}`,
  );
