import { env } from 'cloudflare:workers';
import fc from 'fast-check';

/** An element and an attribute that are in a page only if typed text became markup. */
export const EVIL_ELEMENT = 'x-evil';
export const EVIL_ATTRIBUTE = 'onevil';
export const EVIL_MARKUP = `"'><${EVIL_ELEMENT} ${EVIL_ATTRIBUTE}="1" ${EVIL_ATTRIBUTE}='2'>`;

/** Texts that a faulty encoder, database or page loses, changes or executes. */
const PIECES = [
  // Combining marks, composed and decomposed; letters whose other case has more letters.
  ...['e\u0301', 'é', 'A\u030A', '\u0301', 'İ', 'ß', 'ﬁ'],
  // Text from right to left, and marks that change the direction.
  ...['שלום', 'مرحبا', '\u202Egnp.exe\u202C', '\u2066x\u2069', '\u200F'],
  // Invisible: zero-width characters, a byte order mark, a soft hyphen, a variation selector.
  ...['\u200B', '\u200C', '\u200D', '\u2060', '\uFEFF', '\u00AD', '\uFE0F'],
  // Characters of more than one UTF-16 unit, the last code point, non-characters, private use, and
  // the replacement character.
  ...['😀', '👩‍👩‍👧‍👦', '🇪🇺', '𝕏', '\u{20000}', '\u{10FFFF}', '\uFFFF', '\uFDD0', '\uE000', '\uFFFD'],
  // White space, line ends and control characters.
  ...['\r\n', '   ', '\u001B[31m', ...'\n\r\t \u00A0\u3000\u2028\u2029\u0085\v\u0001\u007F'],
  // Syntax of HTML, JSON, URLs, SQL, spreadsheets, templates and shells.
  ...[EVIL_MARKUP, `</title><${EVIL_ELEMENT}>`, '--></option></select>', '&lt;&#60;&amp;', ']]>'],
  ...['\\', '\\u0000', '\\"', '%00', '%F0%9F', "'; drop table notes; --", '--', '/*', '=1+1', '@SUM(1)'],
  ...['{{7*7}}', '%s%n', '../../..', 'null', 'undefined', 'NaN'],
];

/** Any text that has a UTF-8 encoding, mostly of the pieces above. */
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

/** A header value in ASCII. Other bytes need a socket: test/e2e/raw.test.ts. */
export const headerValue = fc.string({
  unit: fc.integer({ min: 0x20, max: 0x7f }).map((byte) => String.fromCharCode(byte === 0x7f ? 0x09 : byte)),
  maxLength: 300,
});

/** JSON, or a copy of it with another value at one place, or another field. Its own texts are also used elsewhere. */
export function changedJson(json: unknown, others: readonly unknown[] = []): fc.Arbitrary<unknown> {
  const value = fc.oneof(fc.constantFrom(...others, '__proto__', -1, 1.5, true), anyText, fc.jsonValue());
  const place = fc.constantFrom(...placesIn(json));
  return fc.oneof(
    fc.constant(json),
    fc.tuple(place, value).map(([path, to]) => withValue(json, path, to)),
  );
}

/** The paths of all values in JSON, and of one more field of each object. */
function placesIn(json: unknown): string[][] {
  if (json === null || typeof json !== 'object') return [[]];
  const inside = Object.entries(json).flatMap(([name, value]) => placesIn(value).map((path) => [name, ...path]));
  return [[], ['x'], ...inside];
}

function withValue(json: unknown, [name, ...rest]: readonly string[], to: unknown): unknown {
  if (name === undefined) return to;
  const fields = json !== null && typeof json === 'object' ? Object.entries(json) : [];
  const was = fields.find(([field]) => field === name)?.[1];
  const changed = [...fields.filter(([field]) => field !== name), [name, withValue(was, rest, to)]];
  return Array.isArray(json) && name !== 'x' ? changed.map(([, value]) => value) : Object.fromEntries(changed);
}

const TABLES = [
  ...['organizations', 'users', 'companies', 'agreements', 'tickets', 'api_keys', 'notes', 'time_entries', 'audit_log'],
  ...['erasures', 'directory_clock'],
];

/**
 * The number of rows of each table of the whole database, and of what is recorded of the organization's refused requests:
 * those of earlier tests may still be recorded.
 */
export async function rowCounts(organization: string): Promise<Record<string, number>> {
  const counts = TABLES.map((table) => `(select count(*) from ${table}) as ${table}`).join(', ');
  const refused = ['refused_uses', 'refused_requests']
    .map((table) => `(select count(*) from ${table} where organization_id = ?1) as ${table}`)
    .join(', ');
  const row = await env.DB.prepare(`select ${counts}, ${refused}`).bind(organization).first<Record<string, number>>();
  if (!row) throw new Error('a count is always a row');
  return row;
}

/**
 * Counts the outcomes of a property's inputs, because a property whose inputs all fail the first
 * check proves little.
 */
export class Tally {
  private readonly counts = new Map<string, number>();

  add(outcome: string | number): void {
    this.counts.set(String(outcome), this.of(outcome) + 1);
  }

  of(outcome: string | number): number {
    return this.counts.get(String(outcome)) ?? 0;
  }

  /** Prints the number of inputs and of each outcome. */
  print(what: string): void {
    const total = [...this.counts.values()].reduce((sum, count) => sum + count, 0);
    const parts = [...this.counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([outcome, count]) => `${outcome}: ${count}`);
    console.log(`${what}: ${total} (${parts.join(', ')})`);
  }
}
