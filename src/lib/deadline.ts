import { LoggableError } from './loggable-error.ts';

/** What `withDeadline` rejects with. The work itself may still be going on. */
export class DeadlineExceeded extends LoggableError {
  override name = 'DeadlineExceeded';
}

/** The promise, or a DeadlineExceeded if it has not settled within `ms` milliseconds. */
export async function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineExceeded(`no answer within ${ms} ms`)), Math.max(0, ms));
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
