import fc from 'fast-check';
import { expect, test } from 'vitest';
import { describeJsonError } from '../../src/lib/json-error.ts';
import { runs } from '../support/property.ts';

/** JSON texts of one or more lines, and a place in each. */
const placeInJson = fc
  .tuple(fc.jsonValue(), fc.constantFrom('', ' ', '\n'), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([value, space, share]) => {
    const text = JSON.stringify({ value }, null, space);
    return { text, place: 1 + Math.floor(share * (text.length - 2)) };
  });

test('a text that is cut off anywhere is reported as ending too early', () => {
  fc.assert(
    fc.property(placeInJson, ({ text, place }) => {
      expect(describeJsonError(text.slice(0, place))).toContain('it ends too early');
    }),
    { numRuns: runs('JSON that breaks off', 500) },
  );
});

test('an invalid character is reported with its line and column', () => {
  fc.assert(
    fc.property(placeInJson, ({ text, place }) => {
      const before = text.slice(0, place);
      const lines = before.split('\n');
      const column = place - before.lastIndexOf('\n');
      expect(describeJsonError(`${before}\u0001${text.slice(place)}`)).toContain(
        `see line ${lines.length}, column ${column}, at "\\u0001".`,
      );
    }),
    { numRuns: runs('JSON with a stray character', 500) },
  );
});

test('the text in place of a value is reported', () => {
  for (const text of ['[object Object]', ' undefined\n', 'NaN', 'None'])
    expect(describeJsonError(text)).toContain(`not JSON but the text "${text.trim()}"`);
});
