// Apart from command.ts, because tests in workerd call Cloudflare's API too, and commander needs Node.

/** Thrown for a wrong call: the message is followed by the usage, and the exit code is 2. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** An expected failure: the operator sees only the message, and the exit code is 1. */
export class CommandFailure extends Error {
  override name = 'CommandFailure';
}
