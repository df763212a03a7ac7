import { isWellFormedKey, keyHint } from './api-key.ts';

/** Keys that an operator has blocked, by id or by hint. An id never has the form of a hint. */
export type BlockedKeys = ReadonlySet<string>;

const KEY_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Parses a list of key ids and hints, separated by commas or white space. A hint may be written with three dots.
 * @throws RangeError naming the position of the entry and the rule, never its text: it may be a key value
 */
export function parseBlockedKeys(text: string, keyPrefix: string): BlockedKeys {
  const hint = new RegExp(`^${keyPrefix}_[0-9A-Za-z]{4}…[0-9A-Za-z]{4}$`);
  const entries = text.split(/[\s,]+/).filter((entry) => entry !== '');
  return new Set(
    entries.map((entry, index) => {
      const position = `entry ${index + 1} of ${entries.length}`;
      if (isWellFormedKey(entry, keyPrefix))
        throw new RangeError(`${position} is a whole key value; use its hint, ${keyHint(entry)}`);
      const id = entry.toLowerCase();
      if (KEY_ID.test(id)) return id;
      const dotted = entry.replace('...', '…');
      if (hint.test(dotted)) return dotted;
      throw new RangeError(
        `${position} is neither a key id nor a hint such as ${keyPrefix}_Ab12…x9Yz; copy one from the settings area, and for a key value write its hint`,
      );
    }),
  );
}
