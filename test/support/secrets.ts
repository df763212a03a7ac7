import { hashKey } from '../../src/domain/api-key.ts';

// What must never be in a log: by its shape, and by the very values that this test file made or
// sent.

/** By its shape, whoever made it. */
const SHAPES: Record<string, RegExp> = {
  'a key value': /\b[a-z][a-z0-9]{1,15}_[0-9A-Za-z]{46}/,
  'a hash': /\b[0-9a-f]{64}\b/,
  'an Authorization header': /Bearer /,
  'a body': /"(?:message|description)\\*":/,
  SQL: /\b(?:insert (?:or \w+ )?into|select\b[^\n]{1,500}\bfrom|update "?\w+"? set|delete from|create (?:table|trigger)|on conflict)\b/i,
};

/** How much of a value must appear to be found: a log might cut it. */
const FOUND_BY = 16;
/** A text of less variety is found where nobody put it. */
const LEAST_VARIETY = 6;
/**
 * Those made longest ago are forgotten: long property tests send thousands, and each is searched
 * for.
 */
const MOST_VALUES = 2_000;

const values = new Map<string, string>();

function remember(value: string, what: string): void {
  values.delete(value);
  values.set(value, what);
  const [oldest] = values.keys();
  if (values.size > MOST_VALUES && oldest !== undefined) values.delete(oldest);
}

/** From now on neither the key nor its hash may be in a log. */
export async function rememberKey(value: string): Promise<void> {
  remember(value.slice(value.indexOf('_') + 1).slice(0, FOUND_BY), 'a key that was made');
  remember((await hashKey(value)).slice(0, FOUND_BY), 'the hash of a key that was made');
}

/** From now on the text may not be in a log, plain or as JSON; too short ones are passed over. */
export function rememberText(text: string): void {
  for (const form of [text, JSON.stringify(text).slice(1, -1)]) {
    const start = form.slice(0, FOUND_BY);
    if (start.length === FOUND_BY && new Set(start).size >= LEAST_VARIETY) remember(start, 'a text that was sent');
  }
}

/** The same for all texts of a JSON body; of a body that is no JSON, for all of it. */
export function rememberBody(body: string): void {
  let texts: unknown[];
  try {
    texts = Object.values(Object(JSON.parse(body)));
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    texts = [body];
  }
  for (const text of texts) if (typeof text === 'string') rememberText(text);
}

/** What of all this is in a log, each with the line that it is in. */
export function secretsIn(lines: readonly string[]): string[] {
  const all = lines.join('\n');
  const found = [
    ...Object.entries(SHAPES).flatMap(([what, shape]) =>
      shape.test(all) ? [[what, (line: string) => shape.test(line)] as const] : [],
    ),
    ...[...values].flatMap(([value, what]) =>
      all.includes(value) ? [[what, (line: string) => line.includes(value)] as const] : [],
    ),
  ];
  return found.map(([what, has]) => `${what}: ${lines.find(has)}`);
}
