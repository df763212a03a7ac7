import { hashKey } from '../../src/domain/api-key.ts';

// What a log may not contain: anything with the shape of a secret, and the values that the tests
// made or sent.

const SHAPES: Record<string, RegExp> = {
  'a key value': /\b[a-z][a-z0-9]{1,15}_[0-9A-Za-z]{46}/,
  'a hash': /\b[0-9a-f]{64}\b/,
  'an Authorization header': /Bearer /,
  'a body': /"(?:message|description)\\*":/,
  SQL: /\b(?:insert (?:or \w+ )?into|select\b[^\n]{1,500}\bfrom|update "?\w+"? set|delete from|create (?:table|trigger)|on conflict)\b/i,
};

/** The first characters of a value are searched for, because a log may cut it off. */
const SEARCHED_LENGTH = 16;
/** Texts of fewer different characters are not searched for: they may be in a log by chance. */
const LEAST_VARIETY = 6;
/** Older values are forgotten, because property tests send thousands and each is searched for. */
const MOST_VALUES = 2_000;

const values = new Map<string, string>();

function remember(value: string, what: string): void {
  values.delete(value);
  values.set(value, what);
  const [oldest] = values.keys();
  if (values.size > MOST_VALUES && oldest !== undefined) values.delete(oldest);
}

/** No log may contain the key or its hash from now on. */
export async function rememberKey(value: string): Promise<void> {
  remember(value.slice(value.indexOf('_') + 1).slice(0, SEARCHED_LENGTH), 'a key of the test');
  remember((await hashKey(value)).slice(0, SEARCHED_LENGTH), 'the hash of a key of the test');
}

/** No log may contain the text from now on, plain or in JSON, unless it is too short. */
export function rememberText(text: string): void {
  for (const form of [text, JSON.stringify(text).slice(1, -1)]) {
    const start = form.slice(0, SEARCHED_LENGTH);
    if (start.length === SEARCHED_LENGTH && new Set(start).size >= LEAST_VARIETY) remember(start, 'a text of the test');
  }
}

/** No log may contain the texts of a JSON body from now on, or a body that is not JSON. */
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

/** The secrets in some lines, each with its line. */
export function secretsIn(lines: readonly string[]): string[] {
  const all = lines.join('\n');
  const found = Object.entries(SHAPES).flatMap(([what, shape]) =>
    shape.test(all) ? [`${what}: ${lines.find((line) => shape.test(line))}`] : [],
  );
  // All values have the same length, so one look-up at each place of a line finds any of them.
  for (const line of lines)
    for (let at = 0; at + SEARCHED_LENGTH <= line.length; at++) {
      const what = values.get(line.slice(at, at + SEARCHED_LENGTH));
      if (what !== undefined) found.push(`${what}: ${line}`);
    }
  return found;
}
