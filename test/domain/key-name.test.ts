import { describe, expect, test } from 'vitest';
import { fieldErrors } from '../../src/domain/fields.ts';
import { keyChanges, newApiKey } from '../../src/domain/key-input.ts';

const keptAs = (name: string) => {
  const created = newApiKey.parse({ name, scopes: ['tickets:note:write'] }).name;
  expect(keyChanges.parse({ name }).name).toBe(created);
  return created;
};

const errorOf = (name: string) => {
  const { error } = keyChanges.safeParse({ name });
  const created = newApiKey.safeParse({ name, scopes: ['tickets:note:write'] });
  expect(created.error && fieldErrors(created.error)).toEqual(error && fieldErrors(error));
  return error && fieldErrors(error);
};

describe('the form in which a key name is kept', () => {
  test.each([
    ['workflow  B', 'workflow B'],
    [' workflow\u00a0\u3000B\t', 'workflow B'],
    ['a\r\nb\tc', 'a b c'],
    ['\ufeffNote É 😀', 'Note É 😀'],
    ['cafe\u0301', 'caf\u00e9'],
    ['\u1112\u1161\u11ab', '\ud55c'],
    ['\u212b', '\u00c5'],
    ['\u2003a\u0301 \u2002 b', '\u00e1 b'],
    // Compatibility characters look different, so they stay.
    ['\ufb01x \u2460', '\ufb01x \u2460'],
  ])('the name %j is kept as %j', (typed, name) => {
    expect(keptAs(typed)).toBe(name);
  });

  test("a name's length is counted in NFC", () => {
    expect(keptAs('e\u0301'.repeat(100))).toBe('\u00e9'.repeat(100));
    expect(errorOf('e\u0301'.repeat(101))).toMatchObject([{ code: 'too_long' }]);
    // A composition exclusion: NFC makes two characters of it.
    expect(keptAs('\u0958'.repeat(50))).toBe('\u0915\u093c'.repeat(50));
    expect(errorOf('\u0958'.repeat(51))).toMatchObject([
      { code: 'too_long', detail: 'name has 102 characters; send at most 100' },
    ]);
  });
});

test.each([
  ['Persian', 'نمی\u200cخواهم ۵\u200cساله'],
  ['Persian with a vowel sign', 'می\u064e\u200cشود'],
  ['Sorani', 'ئه\u200cوانه'],
  ['Hindi', 'क्\u200dष क्\u200cष'],
  ['Bengali, with a joiner before and at the end of a word after a virama', 'র\u200d্যাব ত্\u200d'],
  ['Malayalam, with a joiner at the end of a word', 'അവന്\u200d'],
  ['Kannada', 'ರ\u200d್ಕ'],
  ['Sinhala', 'ශ්\u200dරී ලංකා'],
  ['Khmer', 'ក\u200cខ'],
  ['a family', '👨\u200d👩\u200d👧\u200d👦 and 👩🏽\u200d💻'],
  ['emoji with a variation selector', '⚙\ufe0f sync ❤\ufe0f\u200d🔥 🏳\ufe0f\u200d🌈'],
  ['a keycap and flags', '1\ufe0f\u20e3 🇩🇪 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'],
])('a name in %s is accepted', (_, name) => {
  expect(keptAs(name)).toBe(name.normalize('NFC'));
});

test.each([
  // Joiners where no script needs them.
  ['a\u200db', 'U+200D'],
  ['Auf\u200clage', 'U+200C'],
  ['\u200dtriage', 'U+200D'],
  ['triage\u200c', 'U+200C'],
  ['a \u200d b', 'U+200D'],
  ['1\u200d2', 'U+200D'],
  ['\u200cمی', 'U+200C'],
  ['می\u200c', 'U+200C'],
  ['می\u200c شود', 'U+200C'],
  ['می\u200c\u200cشود', 'U+200C'],
  ['می\u200cx', 'U+200C'],
  ['क्\u200d\u200dष', 'U+200D'],
  ['x\u0304\u200d\u0304', 'U+200D'],
  ['😀\u200d😀', 'U+200D'],
  ['👩\u200d💻\u200d', 'U+200D'],
  ['\u200d👩', 'U+200D'],
  ['می\u200c👩', 'U+200C'],
  // Default-ignorable characters that are neither controls nor formats.
  ['\u3164', 'U+3164'],
  ['\u115f', 'U+115F'],
  ['\u1160', 'U+1160'],
  ['\uffa0', 'U+FFA0'],
  ['a\u034fb', 'U+034F'],
  ['a\u17b4', 'U+17B4'],
  ['\u1820\u180b', 'U+180B'],
  ['葛\u{e0100}', 'U+E0100'],
  ['😀\ufe0f', 'U+FE0F'],
  ['❤\ufe0e', 'U+FE0E'],
  ['1\ufe0f', 'U+FE0F'],
  ['a\u{1d173}', 'U+1D173'],
  ['a\u2065', 'U+2065'],
  // Blank, although it is a symbol.
  ['\u2800', 'U+2800'],
  ['workflow\u200b B', 'U+200B'],
  ['\u202eB wolfkrow', 'U+202E'],
  ['work\u00adflow', 'U+00AD'],
  ['\u001b[31mworkflow', 'U+001B'],
  ['workflow B\u0085', 'U+0085'],
  ['workflow \u{e0041}', 'U+E0041'],
])('the name %j is refused, and the error references %s', (name, which) => {
  expect(errorOf(name)).toEqual([
    {
      pointer: '/name',
      code: 'forbidden_character',
      detail: expect.stringContaining(`name has the invisible character ${which}; remove all invisible characters`),
    },
  ]);
});
