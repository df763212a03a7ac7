/**
 * Control, format and default-ignorable characters (Unicode), among them joiners, variation selectors and Hangul
 * fillers; and the blank Braille pattern, which is a symbol by category.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** Emoji that Unicode recommends, with the joiners, selectors and tags that belong to them. */
const EMOJI = /\p{RGI_Emoji}/gv;

/** Living scripts in which the joiners U+200C and U+200D change how letters are written. */
const JOINING_SCRIPTS = [
  'Adlam Arabic Hanifi_Rohingya Mongolian Nko Syriac',
  'Bengali Devanagari Gujarati Gurmukhi Kannada Khmer Malayalam Myanmar Oriya Sinhala Tamil Telugu',
]
  .flatMap((names) => names.split(' '))
  .map((name) => `\\p{Script=${name}}`)
  .join('');

/** A letter, mark or digit of these scripts. Arabic vowel signs belong to no script. */
const JOINING_CHARACTER = `[[\\p{L}\\p{M}\\p{N}]&&[${JOINING_SCRIPTS}\\u064b-\\u0655\\u0670]]`;

/** A sign that silences the vowel of the letter before it. A joiner after it changes its form. */
const VIRAMA = '[\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca]';

/**
 * A joiner between two characters of these scripts, or after a virama (compare RFC 5892 A.1, A.2). Made when it is
 * needed: it would take milliseconds of every Worker's start.
 */
const visibleJoiner = () =>
  new RegExp(`(?<=${JOINING_CHARACTER})[\\u200c\\u200d](?=${JOINING_CHARACTER})|(?<=${VIRAMA})[\\u200c\\u200d]`, 'gv');

/** The first character of a text that a reader cannot see, if there is one. */
export function invisibleCharacter(text: string): string | undefined {
  // Nearly every name ends here. The expressions below are slow to compile.
  if (!INVISIBLE.test(text)) return undefined;
  const rest = text.replace(EMOJI, 'x').replace(visibleJoiner(), '');
  return INVISIBLE.exec(rest)?.[0];
}
