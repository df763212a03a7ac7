import { LoggableError } from './log.ts';

/** The rejection of a wait. The work itself may still be running. */
export class DeadlineExceeded extends LoggableError {
  override name = 'DeadlineExceeded';
}

/**
 * Ends waits at their deadlines with one timer for all of them. To set and clear one for each call is a tenth of what a
 * write costs, so the timer stays set until the earliest deadline that was asked for.
 */
export class Deadlines {
  private readonly waits = new Set<{ at: number; end: () => void }>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private firesAt = Number.POSITIVE_INFINITY;

  /** Waits for the promise, at most `ms` milliseconds. @throws DeadlineExceeded if it has not settled by then */
  wait<T>(promise: Promise<T>, ms: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const end = () => reject(new DeadlineExceeded(`no response within ${ms} ms`));
      const wait = { at: Date.now() + Math.max(0, ms), end };
      this.waits.add(wait);
      this.fireBy(wait.at);
      promise.then(
        (value) => {
          this.waits.delete(wait);
          resolve(value);
        },
        (err) => {
          this.waits.delete(wait);
          reject(err);
        },
      );
    });
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private fireBy(at: number): void {
    if (at >= this.firesAt) return;
    this.stop();
    this.firesAt = at;
    this.timer = setTimeout(() => this.fire(at), at - Date.now());
  }

  private fire(now: number): void {
    this.firesAt = Number.POSITIVE_INFINITY;
    for (const { at, end } of this.waits) {
      if (at <= now) end();
      else this.fireBy(at);
    }
  }
}

/** Waits for the promise, with others that share `shared`, or by itself. See `Deadlines`. @throws DeadlineExceeded */
export function withDeadline<T>(promise: Promise<T>, ms: number, shared?: Deadlines): Promise<T> {
  if (shared) return shared.wait(promise, ms);
  const deadlines = new Deadlines();
  return deadlines.wait(promise, ms).finally(() => deadlines.stop());
}
