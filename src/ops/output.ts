/** Thrown by `print` when the reader of standard output has closed it, as `head` does. */
export class OutputClosed extends Error {
  override name = 'OutputClosed';
}

/** For commands that only read, and stop with their reader; others use `console.log`. @throws OutputClosed */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (err) => {
      if (!err) resolve();
      else reject(isClosed(err) ? new OutputClosed() : err);
    });
  });
}

export function tolerateClosedOutput(): void {
  process.stdout.on('error', (err) => {
    if (!isClosed(err)) throw err;
  });
}

const isClosed = (err: Error) => 'code' in err && (err.code === 'EPIPE' || err.code === 'ERR_STREAM_DESTROYED');

const UNITS = ['B', 'kB', 'MB', 'GB'];

/** A number of bytes with three significant digits, such as `1.23 MB` (1 MB = 1,000,000 bytes). */
export function formatBytes(bytes: number): string {
  const power = UNITS.findIndex((_, index) => bytes < 1000 ** (index + 1) || index === UNITS.length - 1);
  return `${Number((bytes / 1000 ** power).toPrecision(3))} ${UNITS[power]}`;
}

export const percent = (share: number) => `${(share * 100).toFixed(1)}%`;

/** Lines with aligned columns: the first one to the left, numbers to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widthOf = (column: number) => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const lines = rows.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widthOf(column)) : cell.padStart(widthOf(column)))),
  );
  return lines.map((cells) => cells.join('  ').trimEnd()).join('\n');
}

/** `1 record`, `2 records`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
