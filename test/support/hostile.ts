import { env } from 'cloudflare:workers';
import fc from 'fast-check';

/** An element and an attribute that no page has, unless what somebody typed has become markup. */
export const EVIL_ELEMENT = 'x-evil';
export const EVIL_ATTRIBUTE = 'onevil';
export const EVIL_MARKUP = `"'><${EVIL_ELEMENT} ${EVIL_ATTRIBUTE}="1" ${EVIL_ATTRIBUTE}='2'>`;

/**
 * What gets lost, changed or believed on the way through encoders, databases and pages, where
 * something is wrong with them.
 */
const PIECES = [
  // Combining marks, composed and not; letters that change their number when their case does.
  ...['e\u0301', 'é', 'A\u030A', '\u0301', 'İ', 'ß', 'ﬁ'],
  // Right to left, and the marks that switch the direction.
  ...['שלום', 'مرحبا', '\u202Egnp.exe\u202C', '\u2066x\u2069', '\u200F'],
  // Nothing to see: zero-width characters, a byte order mark, a soft hyphen, variation selectors.
  ...['\u200B', '\u200C', '\u200D', '\u2060', '\uFEFF', '\u00AD', '\uFE0F'],
  // Beyond the basic plane, joined ones too; the last code point, non-characters, private use, the
  // replacement character.
  ...['😀', '👩‍👩‍👧‍👦', '🇪🇺', '𝕏', '\u{20000}', '\u{10FFFF}', '\uFFFF', '\uFDD0', '\uE000', '\uFFFD'],
  // White space and ends of lines of every kind, and control characters.
  ...[
    '\r\n',
    '\n',
    '\r',
    '\t',
    ' ',
    '   ',
    '\u00A0',
    '\u3000',
    '\u2028',
    '\u2029',
    '\u0085',
    '\v',
    '\u0001',
    '\u001B[31m',
    '\u007F',
  ],
  // What other languages take for their own.
  ...[
    EVIL_MARKUP,
    `</title><${EVIL_ELEMENT}>`,
    '--></option></select>',
    '&lt;&#60;&amp;',
    ']]>',
    '\\',
    '\\u0000',
    '\\"',
    '%00',
    '%F0%9F',
  ],
  ...[
    "'; drop table notes; --",
    '--',
    '/*',
    '=1+1',
    '@SUM(1)',
    '{{7*7}}',
    '%s%n',
    '../../..',
    'null',
    'undefined',
    'NaN',
  ],
];

/** Any text that has an encoding: mostly of the pieces above, and any code points. */
export const anyText = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...PIECES) },
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.string(),
    ),
    {
      maxLength: 6,
    },
  )
  .map((pieces) => pieces.join(''));

/**
 * What can stand in a header, but for bytes that are not ASCII: those go over a socket in
 * test/e2e/raw.test.ts.
 */
export const headerValue = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7f }).map((byte) => String.fromCharCode(byte === 0x7f ? 0x09 : byte)),
  maxLength: 300,
});

const TABLES = [
  ...['organizations', 'users', 'companies', 'agreements', 'tickets', 'api_keys', 'notes', 'time_entries', 'audit_log'],
  ...['refused_uses', 'erasures'],
];

/** How many rows each table of the whole database holds. */
export async function rowCounts(): Promise<Record<string, number>> {
  const counts = TABLES.map((table) => `(select count(*) from ${table}) as ${table}`).join(', ');
  const row = await env.DB.prepare(`select ${counts}`).first<Record<string, number>>();
  if (!row) throw new Error('a count is always a row');
  return row;
}

/**
 * Counts what came of a property's inputs: one that never gets past the first check proves little.
 */
export class Tally {
  private readonly counts = new Map<string, number>();

  add(outcome: string | number): void {
    this.counts.set(String(outcome), this.of(outcome) + 1);
  }

  of(outcome: string | number): number {
    return this.counts.get(String(outcome)) ?? 0;
  }

  /** Prints the number of inputs and what came of them. */
  print(what: string): void {
    const total = [...this.counts.values()].reduce((sum, count) => sum + count, 0);
    const parts = [...this.counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([outcome, count]) => `${outcome}: ${count}`);
    console.log(`${what}: ${total} (${parts.join(', ')})`);
  }
}
