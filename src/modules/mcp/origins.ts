/** Scheme, host and port in lower case, without a path (RFC 6454 §6.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/,A-Z]+$/;

/**
 * The values of `Origin` that are accepted. Programs send none; browsers send that of their page.
 * @throws RangeError naming the text and the rule
 */
export function parseOrigins(text: string): string[] {
  const values = text.split(/[\s,]+/).filter((value) => value !== '');
  const wrong = values.find((value) => !ORIGIN.test(value));
  if (wrong !== undefined)
    throw new RangeError(`"${wrong}" is not an origin; write scheme and host, such as https://inspector.example`);
  return values;
}
