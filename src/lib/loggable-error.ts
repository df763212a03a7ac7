/** An error whose message has only our own words, nothing sent or stored, so it is safe to log. */
export class LoggableError extends Error {
  override name = 'LoggableError';
}
