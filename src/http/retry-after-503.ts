const SECONDS = { min: 4, max: 8 };

export const RETRY_AFTER_503 = `a random number from ${SECONDS.min} to ${SECONDS.max}, so that not all callers return at the same time`;

/**
 * The Retry-After of a 503. It is random, because the callers that an overloaded database refuses would otherwise
 * return together.
 */
export function retryAfter503(random: () => number = Math.random): { 'Retry-After': string } {
  const { min, max } = SECONDS;
  return { 'Retry-After': String(min + Math.floor(random() * (max - min + 1))) };
}
