const SIGN_OF_LIFE_MS = 15_000;

/** Prints what is waited for, and then as `remind` does. */
export function announce<T>(print: (line: string) => void, what: string, work: () => Promise<T>): Promise<T> {
  print(`${what} ...`);
  return remind(print, what, work);
}

/** Prints every 15 s how long a command has been waiting, so that its user does not end a slow command. */
export async function remind<T>(print: (line: string) => void, what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = Date.now();
  const timer = setInterval(() => {
    print(`${what}: ${Math.round((Date.now() - startedAt) / 1000)} s`);
  }, SIGN_OF_LIFE_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
