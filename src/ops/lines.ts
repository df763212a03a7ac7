/** A line of a text, counted from 1, or what is wrong with it. */
type Line = { line: number; text: string } | { line: number; fault: 'too_long' | 'not_utf8' };

const LINE_FEED = 0x0a;

/** Splits bytes into lines of UTF-8, of which at most `maxBytes` are in memory. Drops a byte order mark. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Line> {
  let line = 0;
  let pieces: Uint8Array[] = [];
  let length = 0;

  const add = (piece: Uint8Array) => {
    length += piece.length;
    if (length <= maxBytes) pieces.push(piece);
    else pieces = [];
  };
  const end = (): Line => {
    const result = length > maxBytes ? ({ line: ++line, fault: 'too_long' } as const) : decode(++line, pieces);
    pieces = [];
    length = 0;
    return result;
  };

  for await (const chunk of chunks) {
    let start = 0;
    for (let feed = chunk.indexOf(LINE_FEED); feed >= 0; feed = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, feed));
      yield end();
      start = feed + 1;
    }
    // A copy: a stream may use the chunk's memory again.
    if (start < chunk.length) add(chunk.slice(start));
  }
  if (length > 0) yield end();
}

function decode(line: number, pieces: Uint8Array[]): Line {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });
  try {
    return { line, text: pieces.map((piece) => decoder.decode(piece, { stream: true })).join('') + decoder.decode() };
  } catch (err) {
    if (!(err instanceof TypeError)) throw err;
    return { line, fault: 'not_utf8' };
  }
}
