import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

/** Asks at the terminal; `hidden` does not show what is typed. Ctrl-C is an empty answer. */
export async function prompt(question: string, { hidden = false } = {}): Promise<string> {
  const output = hidden ? new Writable({ write: (_chunk, _encoding, done) => done() }) : process.stderr;
  const terminal = createInterface({ input: process.stdin, output, terminal: true });
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  if (hidden) process.stderr.write(question);
  try {
    const answer = await Promise.race([terminal.question(hidden ? '' : question), closed]);
    // What is typed ends the line, unless it is hidden or there is none.
    if (hidden || answer === '') process.stderr.write('\n');
    return answer;
  } finally {
    terminal.close();
  }
}
