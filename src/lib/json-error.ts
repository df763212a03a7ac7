/** What some tools put into a body where a value was missing or was not turned into text. */
const UNFILLED = /^(?:\[object \w+\]|undefined|NaN|None)$/;
/** So far into a text its fault is looked for; the rest would cost too much time. */
const MAX_SEARCHED = 65_536;

/** Says of a text that is not JSON where it stops being so: one sentence on the place, one on what to do. */
export function describeJsonError(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') return 'The body is empty; send a JSON object.';
  if (UNFILLED.test(trimmed)) {
    return `The body is not JSON but the text ${JSON.stringify(trimmed)}: a value was missing, or an object was not turned into JSON. Send a JSON object.`;
  }
  if (mayGoOn(text)) return 'The body is not valid JSON: it ends too early. Send a complete JSON object.';
  const end = lengthThatMayGoOn(text.slice(0, MAX_SEARCHED));
  if (end === MAX_SEARCHED)
    return `The body is not valid JSON, somewhere behind its first ${MAX_SEARCHED} characters. Check quotes, commas and unescaped line breaks.`;
  const lines = text.slice(0, end).split('\n');
  const column = (lines.at(-1) ?? '').length + 1;
  const [stranger = ''] = text.slice(end, end + 2);
  return `The body is not valid JSON: see line ${lines.length}, column ${column}, at ${JSON.stringify(stranger)}. Check quotes, commas and unescaped line breaks there.`;
}

/** The length of the longest beginning that may go on. Bisected: every beginning of such a one is one itself. */
function lengthThatMayGoOn(text: string): number {
  let least = 0;
  let most = text.length;
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if (mayGoOn(text.slice(0, middle))) least = middle;
    else most = middle - 1;
  }
  return least;
}

/** Whether a text is JSON, or could become so by what is put behind it: then V8 finds nothing wrong before its end. */
function mayGoOn(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    const position = /at position (\d+)/.exec(err.message)?.[1];
    return position === undefined ? err.message === 'Unexpected end of JSON input' : Number(position) >= text.length;
  }
}
