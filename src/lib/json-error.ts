/** Texts that tools send in place of a missing or unserialized value. */
const PLACEHOLDER = /^(?:\[object \w+\]|undefined|NaN|None)$/;
/** Only this many characters are searched for the error, to bound the CPU time. */
const MAX_SEARCHED_LENGTH = 65_536;

/** Describes where a text stops being valid JSON (line and column from 1), and what to do. */
export function describeJsonError(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') return 'The body is empty; send a JSON object.';
  if (PLACEHOLDER.test(trimmed)) {
    return `The body is not JSON but the text ${JSON.stringify(trimmed)}: a value was missing, or an object was not serialized. Send a JSON object.`;
  }
  if (isPrefix(text)) return 'The body is not valid JSON: it ends too early. Send a complete JSON object.';
  const end = longestPrefix(text.slice(0, MAX_SEARCHED_LENGTH));
  if (end === MAX_SEARCHED_LENGTH)
    return `The body is not valid JSON: the error is after its first ${MAX_SEARCHED_LENGTH} characters. Check quotes, commas and unescaped line breaks.`;
  const lines = text.slice(0, end).split('\n');
  const column = (lines.at(-1) ?? '').length + 1;
  const [unexpected = ''] = text.slice(end, end + 2);
  return `The body is not valid JSON: see line ${lines.length}, column ${column}, at ${JSON.stringify(unexpected)}. Check quotes, commas and unescaped line breaks there.`;
}

/** Binary search, which works because every prefix of a valid prefix is valid. */
function longestPrefix(text: string): number {
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (isPrefix(text.slice(0, middle))) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Whether the text is JSON or the beginning of JSON: V8 then reports no error before its end. */
function isPrefix(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    const position = /at position (\d+)/.exec(err.message)?.[1];
    return position === undefined ? err.message === 'Unexpected end of JSON input' : Number(position) >= text.length;
  }
}
