import { afterAll, afterEach, beforeEach } from 'vitest';
import { secretsIn } from './secrets.ts';

// Set up before each test file: whatever is logged while it runs is searched for secrets after each
// test, mocked or not.

/**
 * Lines kept for a test to look at; of one that logs more, all are searched, but the first are not
 * kept.
 */
const MOST_LINES = 1_000;
const LEVELS = ['debug', 'log', 'info', 'warn', 'error'];

let lines: { level: string; text: string }[] = [];
let found: string[] = [];

function keep(level: string, args: readonly unknown[]): string {
  const text = args.map((arg) => (arg instanceof Error ? `${arg.stack} ${arg.cause}` : String(arg))).join(' ');
  if (lines.length === MOST_LINES) search();
  lines.push({ level, text });
  return text;
}

function search(): void {
  found.push(...secretsIn(lines.map(({ text }) => text)));
  lines = [];
}

// Around whatever function stands there at the moment of the call, so that a test's own spy does
// not hide from it.
globalThis.console = new Proxy(console, {
  get(target, property) {
    const print = Reflect.get(target, property);
    if (typeof property === 'symbol' || !LEVELS.includes(property)) return print;
    return new Proxy(print, {
      apply(_, __, args) {
        const line = keep(property, args);
        // Every request writes one: too many to read.
        return property === 'log' && line.startsWith('{"event":"request"')
          ? undefined
          : Reflect.apply(print, target, args);
      },
    });
  },
});

function nothingFound(): void {
  search();
  const secrets = found;
  found = [];
  if (secrets.length > 0) throw new Error(`The log holds ${secrets.join('\nand ')}`);
}

beforeEach(nothingFound);
afterEach(nothingFound);
afterAll(nothingFound);

/**
 * The lines with this event, and of this level if one is asked for, that were logged since the test
 * began, or since the last call.
 */
export function loggedLines(event: string, level?: string): Record<string, unknown>[] {
  const logged = lines.filter(
    (line) => line.text.startsWith(`{"event":"${event}"`) && (level === undefined || line.level === level),
  );
  search();
  return logged.map(({ text }) => JSON.parse(text));
}
