import { withDeadline } from '../../lib/deadline.ts';
import { ExpiringMap } from '../../lib/expiring-map.ts';
import { log } from '../../lib/log.ts';
import type { Pusher } from './pusher.ts';

/** The namespace of the objects that push, one for each organization, by its id. */
export interface Pushers {
  getByName(organizationId: string): Pick<Pusher, 'wake' | 'forgetErased'>;
}

const WAKE_DEADLINE_MS = 5_000;
/** An isolate wakes an object at most once in this time. */
const WINDOW_MS = 1_000;
/** The capacity of an isolate's map. An evicted organization gets one extra wake. */
const REMEMBERED = 10_000;

/** A failure is only logged, because the push job repeats a wake that was lost. */
export const wakePusher = (pushers: Pushers, organizationId: string): Promise<void> =>
  callPusher(organizationId, () => pushers.getByName(organizationId).wake(organizationId));

/** Has the object of an erased organization delete its storage. A failure is only logged. */
export const emptyPusher = (pushers: Pushers, organizationId: string): Promise<void> =>
  callPusher(organizationId, () => pushers.getByName(organizationId).forgetErased());

async function callPusher(organizationId: string, call: () => Promise<void>): Promise<void> {
  try {
    await withDeadline(call(), WAKE_DEADLINE_MS);
  } catch (err) {
    log('warn', 'push_wake_failed', { organization: organizationId, cause: err });
  }
}

/** Wakes objects after writes, but each at most once a second. One for each isolate. */
export class Wakes {
  private readonly windows = new ExpiringMap<{ until: number; isRepeated: boolean }>(REMEMBERED);

  /**
   * Wakes the object of an organization after a write. The first write does so immediately. The others
   * of the next second cause one wake at its end: the object may have read the feed before they were
   * committed. `waitUntil` gets the work, which the response does not wait for.
   */
  afterWrite(pushers: Pushers, organizationId: string, waitUntil: (work: Promise<void>) => void): void {
    const now = Date.now();
    const window = this.windows.get(organizationId, now);
    if (!window) {
      this.open(organizationId, now);
      waitUntil(wakePusher(pushers, organizationId));
    } else if (!window.isRepeated) {
      window.isRepeated = true;
      waitUntil(this.wakeAtEnd(pushers, organizationId, window));
    }
  }

  private open(organizationId: string, now: number): void {
    const until = now + WINDOW_MS;
    this.windows.set(organizationId, { until, isRepeated: false }, until);
  }

  private async wakeAtEnd(pushers: Pushers, organizationId: string, window: { until: number }): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, window.until - Date.now()));
    this.open(organizationId, Date.now());
    await wakePusher(pushers, organizationId);
  }
}

export const isolateWakes = new Wakes();
