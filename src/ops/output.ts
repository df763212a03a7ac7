/** Thrown by `print` when the reader of standard output has closed it, as `head` does. */
export class OutputClosed extends Error {
  override name = 'OutputClosed';
}

/**
 * Writes to standard output and waits until it is written. For commands that only read: they stop
 * when their reader does. A command that changes something uses `console.log`, whose text is lost
 * then, and finishes its work.
 * @throws OutputClosed
 */
export function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (err) => {
      if (!err) resolve();
      else reject(isClosed(err) ? new OutputClosed() : err);
    });
  });
}

/** Keeps a closed standard output from ending the process as an unhandled error. */
export function tolerateClosedOutput(): void {
  process.stdout.on('error', (err) => {
    if (!isClosed(err)) throw err;
  });
}

const isClosed = (err: Error) => 'code' in err && (err.code === 'EPIPE' || err.code === 'ERR_STREAM_DESTROYED');

/** After how many units of work there is a line where lines cannot be replaced. */
const UNITS_PER_LINE = 100_000;

/** Shows progress: one line on a terminal, elsewhere a line each time that `done` has grown by 100,000. */
export class ProgressLine {
  private readonly stream: { isTTY?: boolean; write(text: string): unknown };
  private shown = false;
  private lines = 0;
  constructor(stream: { isTTY?: boolean; write(text: string): unknown }) {
    this.stream = stream;
  }

  show(text: string, done = 0): void {
    if (this.stream.isTTY) {
      this.stream.write(`\r\x1b[2K${text}`);
      this.shown = true;
      return;
    }
    const lines = Math.floor(done / UNITS_PER_LINE);
    if (lines > this.lines) this.stream.write(`${text}\n`);
    this.lines = lines;
  }

  clear(): void {
    if (this.shown) this.stream.write('\r\x1b[2K');
    this.shown = false;
  }
}

export const progress = new ProgressLine(process.stderr);

const UNITS = ['B', 'kB', 'MB', 'GB'];

/** A number of bytes with three significant digits, such as `1.23 MB` (1 MB = 1,000,000 bytes). */
export function formatBytes(bytes: number): string {
  const power = UNITS.findIndex((_, index) => bytes < 1000 ** (index + 1) || index === UNITS.length - 1);
  return `${Number((bytes / 1000 ** power).toPrecision(3))} ${UNITS[power]}`;
}

/** `1 record`, `2 records`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
