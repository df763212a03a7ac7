/** A line of a text, counted from 1, or what is wrong with it. */
type Line = { line: number; text: string } | { line: number; fault: 'too_long' | 'not_utf8' };

/** Splits bytes into lines of UTF-8, of which at most `maxBytes` are in memory. Drops a byte order mark. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Line> {
  let line = 0;
  // A character of latin1 for each byte.
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + Buffer.from(chunk).toString('latin1')).split('\n');
    rest = (lines.pop() ?? '').slice(0, maxBytes + 1);
    for (const bytes of lines) yield decode(++line, bytes, maxBytes);
  }
  if (rest !== '') yield decode(++line, rest, maxBytes);
}

function decode(line: number, bytes: string, maxBytes: number): Line {
  if (bytes.length > maxBytes) return { line, fault: 'too_long' };
  try {
    return {
      line,
      text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(Buffer.from(bytes, 'latin1')),
    };
  } catch (err) {
    if (!(err instanceof TypeError)) throw err;
    return { line, fault: 'not_utf8' };
  }
}
