import { LoggableError } from './loggable-error.ts';

/** Frames of an error's stack that tell where it came from. */
const FRAMES = 3;

/**
 * Writes one JSON line to the log. Keys, their hashes, headers, bodies and SQL never go in: of a cause only what `safeMessage` lets through. Fields
 * that are undefined are left out.
 */
export function log(
  level: 'log' | 'warn' | 'error',
  event: string,
  { cause, ...fields }: Record<string, unknown>,
): void {
  console[level](JSON.stringify({ event, ...fields, cause: cause === undefined ? undefined : causes(cause) }));
}

function causes(err: unknown): string[] {
  if (!(err instanceof Error)) return [typeof err];
  return [safeMessage(err), ...(err.cause === undefined ? [] : causes(err.cause))];
}

/** Of an error of ours its message; of any other its name and where it was thrown, for its message may quote what was sent. */
function safeMessage(err: Error): string {
  if (err instanceof LoggableError) return `${err.name}: ${err.message}`;
  // The stack begins with the message, which may have lines that look like frames.
  const frames = (err.stack ?? '')
    .replace(err.message, '')
    .split('\n')
    .filter((line) => line.startsWith('    at '));
  return [err.name, ...frames.slice(0, FRAMES).map((line) => line.trim())].join(' ');
}
