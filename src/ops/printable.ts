/**
 * A text from outside for a terminal. Control characters and line separators are escaped, and so
 * are format characters, which can reverse or hide text; the joiners of scripts and emoji stay.
 */
export function printable(text: string): string {
  return text.replace(/[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\u200c\u200d]]/gv, escaped);
}

function escaped(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
}

/** The same in lines of JSON, escaped as JSON escapes them: the values stay the same. */
export function printableJson(lines: string): string {
  return lines.replace(/[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\n\u200c\u200d]]/gv, (character) =>
    Array.from({ length: character.length }, (_, unit) => escaped(character.charAt(unit))).join(''),
  );
}
