/** An error whose message has only our own words, nothing sent or stored, so it is safe to log. */
export class LoggableError extends Error {
  override name = 'LoggableError';
}

/** How many stack frames of an error are logged: enough to find where it was thrown. */
const FRAMES = 3;

/** Writes one JSON line. Keys, their hashes, headers, bodies and SQL never appear in it. */
export function log(level: 'log' | 'warn' | 'error', event: string, { cause, ...fields }: Record<string, unknown>) {
  console[level](JSON.stringify({ event, ...fields, cause: cause === undefined ? undefined : causes(cause) }));
}

function causes(err: unknown): string[] {
  if (!(err instanceof Error)) return [typeof err];
  return [safeMessage(err), ...(err.cause === undefined ? [] : causes(err.cause))];
}

/** The message of our own errors; of any other only name and stack frames, because it may quote user input. */
function safeMessage(err: Error): string {
  if (err instanceof LoggableError) return `${err.name}: ${err.message}`;
  // The stack begins with the message, which may contain lines that look like frames.
  const frames = (err.stack ?? '')
    .replace(err.message, '')
    .split('\n')
    .filter((line) => line.startsWith('    at '));
  return [err.name, ...frames.slice(0, FRAMES).map((line) => line.trim())].join(' ');
}
