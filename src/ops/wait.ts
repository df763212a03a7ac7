const SIGN_OF_LIFE_MS = 15_000;

/** Prints what is waited for, and every 15 s for how long, so that nobody ends a slow command. */
export async function announce<T>(print: (line: string) => void, what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = Date.now();
  print(`${what} ...`);
  const timer = setInterval(() => {
    print(`${what}: ${Math.round((Date.now() - startedAt) / 1000)} s`);
  }, SIGN_OF_LIFE_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
