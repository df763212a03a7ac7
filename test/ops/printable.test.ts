import { expect, test } from 'vitest';
import { printable, printableJson } from '../../src/ops/printable.ts';

test.each([
  ['a\u001b[31mb', 'a\\u001b[31mb'],
  ['a\r\nb\u0000', 'a\\u000d\\u000ab\\u0000'],
  ['\u009b31m', '\\u009b31m'],
  // What turns the order of characters.
  ['user \u202egnp.exe', 'user \\u202egnp.exe'],
  ['\u2066a\u2069 \u200eb\u200f \u061cc', '\\u2066a\\u2069 \\u200eb\\u200f \\u061cc'],
  // What cannot be seen, or breaks the line.
  ['a\u200bb\ufeff\u00ad', 'a\\u200bb\\ufeff\\u00ad'],
  ['a\u2028b\u2029', 'a\\u2028b\\u2029'],
  ['a\u{e0041}', 'a\\u{e0041}'],
])('%j is printed as %j', (text, printed) => {
  expect(printable(text)).toBe(printed);
});

test.each(['Zoë 漢字 → "x" \\u0041', 'می\u200cشود', '👩\u200d💻 ⚙\ufe0f', '\ud800'])(
  '%j is printed unchanged',
  (text) => {
    expect(printable(text)).toBe(text);
  },
);

test('JSON keeps its values, and no control or format character remains', () => {
  const value = { message: 'csi \u009b31mRED \u202etxt\u202c del \u007f tag \u{e0041} می\u200cشود 😀\u2028' };
  const lines = `${JSON.stringify(value)}\n${JSON.stringify(value)}\n`;
  const printed = printableJson(lines);
  expect(printed).toMatch(/^[^\u007f-\u009f\u202e\u202c\u2028]*$/);
  expect(printed).toContain('\\u009b31mRED \\u202etxt\\u202c del \\u007f tag \\udb40\\udc41 می\u200cشود 😀\\u2028');
  expect(
    printed
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([value, value]);
});
