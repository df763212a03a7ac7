const isOws = (code: number) => code === 0x20 || code === 0x09;

/**
 * Removes the white space around a header's value (OWS: spaces and tabs, RFC 9110 §5.5), which some versions of workerd
 * leave at its end. `trim` would also remove other characters, such as a no-break space, and those are part of the
 * value.
 */
export function trimOws(value: string): string {
  // A loop: a regular expression anchored at the end takes quadratic time on a long run of spaces.
  let start = 0;
  let end = value.length;
  while (start < end && isOws(value.charCodeAt(start))) start += 1;
  while (end > start && isOws(value.charCodeAt(end - 1))) end -= 1;
  return value.slice(start, end);
}
