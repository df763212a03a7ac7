import { createInterface } from 'node:readline/promises';
import type { Writable } from 'node:stream';

/** Asks at the terminal; what is typed appears on `echo`. Ctrl-C and Ctrl-D are an empty answer. */
export async function prompt(question: string, echo: Writable): Promise<string> {
  process.stderr.write(question);
  const terminal = createInterface({ input: process.stdin, output: echo, terminal: true });
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    return await Promise.race([terminal.question(''), closed]);
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
