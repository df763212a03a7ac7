import { LoggableError } from './log.ts';

/** The rejection of `withDeadline`. The work itself may still be running. */
export class DeadlineExceeded extends LoggableError {
  override name = 'DeadlineExceeded';
}

/** Waits for the promise, at most `ms` milliseconds. @throws DeadlineExceeded if it has not settled by then */
export async function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineExceeded(`no response within ${ms} ms`)), Math.max(0, ms));
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
