import { secretsIn } from './secrets.ts';

// After each test, everything that was logged is searched for secrets, also what a spy of the test
// did not print.

/** How many lines are kept for `loggedLines`. Earlier lines are searched and discarded. */
const MOST_LINES = 10_000;
const LEVELS = ['debug', 'log', 'info', 'warn', 'error'];

let lines: { level: string; text: string }[] = [];
let found: string[] = [];
let searched: Console | undefined;
/** The functions of the console that keep what they print. */
const keeping = new WeakSet<object>();

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

/** Replaces the console with one whose lines are searched. */
export function searchConsole(): void {
  if (globalThis.console === searched) return;
  // The function is looked up when it is called, because it may be a spy by then.
  searched = new Proxy(globalThis.console, {
    get(target, property) {
      const print = Reflect.get(target, property);
      if (typeof property === 'symbol' || !LEVELS.includes(property)) return print;
      // A spy that is restored puts back what it got here.
      if (keeping.has(print)) return print;
      const kept = new Proxy(print, {
        apply(_, __, args) {
          const line = keep(property, args);
          // Not printed, because each request logs one.
          if (property === 'log' && line.startsWith('{"event":"request"')) return undefined;
          return Reflect.apply(print, target, args);
        },
      });
      keeping.add(kept);
      return kept;
    },
  });
  globalThis.console = searched;
}

/** Throws if a secret was logged since the last call. */
export function expectNoSecrets(): void {
  search();
  const secrets = found;
  found = [];
  if (secrets.length > 0) throw new Error(`The log contains ${secrets.join('\nand ')}`);
}

/**
 * The lines with this event, and with this level if one is given, that were logged since the test
 * began or since the last call.
 */
export function loggedLines(event: string, level?: string): Record<string, unknown>[] {
  const logged = lines.filter(
    (line) => line.text.startsWith(`{"event":"${event}"`) && (level === undefined || line.level === level),
  );
  search();
  return logged.map(({ text }) => JSON.parse(text));
}

/** Those about an organization: alarms and jobs also log lines about those of other tests. */
export const linesAbout = (organization: string, event: string, level?: string) =>
  loggedLines(event, level).filter((line) => line['organization'] === organization);
