/** Writes one JSON line to the log. An error's name, message and causes go in; request bodies, headers and keys never do. */
export function log(
  level: 'error' | 'warn',
  event: string,
  fields: { requestId?: string; cause?: unknown } & Record<string, unknown>,
): void {
  const { cause, ...rest } = fields;
  console[level](JSON.stringify({ event, ...rest, ...(cause === undefined ? {} : { cause: causes(cause) }) }));
}

function causes(err: unknown): string[] {
  if (!(err instanceof Error)) return [String(err)];
  return [`${err.name}: ${err.message}`, ...(err.cause === undefined ? [] : causes(err.cause))];
}
