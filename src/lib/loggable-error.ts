/** An error whose message is made of our own words alone: nothing that was sent or stored is in it, so it may be logged as it is. */
export class LoggableError extends Error {
  override name = 'LoggableError';
}
