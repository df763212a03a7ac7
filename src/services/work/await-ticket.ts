import { hasCode } from '../../domain/errors.ts';
import { ExpiringMap } from '../../lib/expiring-map.ts';
import type { TicketWaits, WriteContext } from '../service-context.ts';

/** A waiting request looks for the ticket after 2, 4, 6 and 8 seconds. */
const [LOOK_EVERY_MS, LOOKS] = [2_000, 4];
/** Reserved for a look and the write that may follow it, within the deadline of the request. */
const LOOK_MS = 1_000;
/** How many requests of a key wait in one isolate. */
const WAITING_PER_KEY = 5;
/** A place is free again after this time, even if its request was cancelled. */
const PLACE_MS = 15_000;

export function ticketWaits(sleep: TicketWaits['sleep']): TicketWaits {
  const places = new ExpiringMap<true>(10_000);
  return {
    sleep,
    enter(key, now) {
      for (let number = 0; number < WAITING_PER_KEY; number++) {
        const place = `${key} ${number}`;
        if (places.get(place, now)) continue;
        places.set(place, true, now + PLACE_MS);
        return () => places.delete(place);
      }
      return undefined;
    },
  };
}

/**
 * Runs a write with an Idempotency-Key, or a dry run. If it finds no ticket, and an adapter may be about to send one, the request waits: `look` only
 * reads, and when it no longer finds that the ticket is missing, `run` is called again. The reason why there is no ticket
 * does not matter, so that the time reveals nothing about the tickets of other companies.
 * @throws as `run` and `look`; ServiceError `ticket_not_found`
 */
export async function awaitTicket<Outcome>(
  ctx: WriteContext,
  { run, look }: { run: () => Promise<Outcome>; look: () => Promise<unknown> },
): Promise<Outcome> {
  const { actor, now, ticketWaits } = ctx;
  if (!ticketWaits) return run();
  try {
    return await run();
  } catch (err) {
    const leave = isExpected(err) && ticketWaits.enter(`${actor.organizationId} ${actor.keyId}`, now());
    if (!leave) throw err;
    try {
      await untilFound(ctx, ticketWaits.sleep, look, err);
    } finally {
      leave();
    }
  }
  return run();
}

const isExpected = (err: unknown) => hasCode(err, 'ticket_not_found') && err.info.retryAfterMs !== undefined;

/** @throws the error of the last look, or the first one if the deadline allows no look */
async function untilFound(
  { deadlineAt }: WriteContext,
  sleep: TicketWaits['sleep'],
  look: () => Promise<unknown>,
  first: unknown,
): Promise<void> {
  let missing = first;
  for (let looks = 0; looks < LOOKS && Date.now() + LOOK_EVERY_MS + LOOK_MS <= deadlineAt; looks++) {
    await sleep(LOOK_EVERY_MS);
    try {
      await look();
      return;
    } catch (err) {
      if (!isExpected(err)) throw err;
      missing = err;
    }
  }
  throw missing;
}
