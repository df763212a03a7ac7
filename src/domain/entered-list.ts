/** How many wrong entries an error names. Reading ends there. */
const MAX_FAULTS = 20;

/** How long a list may be, in characters, and how many different entries it may have, such as `networks`. */
interface ListLimits {
  maxLength: number;
  max: number;
  entries: string;
}

/**
 * Reads a list that a person enters, separated by white space, commas or semicolons, and returns each entry once, as
 * `parse` returns it. The work is bounded: a long text is refused before it is split.
 * @throws RangeError naming the limit, or the wrong entries with the errors of `parse`
 */
export function parseList(text: string, { maxLength, max, entries }: ListLimits, parse: (entry: string) => string) {
  if (text.length > maxLength) throw new RangeError(`has ${text.length} characters; write at most ${maxLength}`);
  const parsed = new Set<string>();
  const wrong: string[] = [];
  for (const entry of text.split(/[\s,;]+/)) {
    if (entry === '') continue;
    try {
      parsed.add(parse(entry));
    } catch (err) {
      if (!(err instanceof RangeError)) throw err;
      if (wrong.push(err.message) === MAX_FAULTS) break;
    }
  }
  if (wrong.length > 0) throw new RangeError(wrong.join('; '));
  if (parsed.size > max) throw new RangeError(`has ${parsed.size} ${entries}; write at most ${max}`);
  return [...parsed];
}
