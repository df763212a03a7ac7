import { DAY_MS } from './calendar.ts';
import { DIRECTORY_ID } from './directory-id.ts';
import type { KeyReference } from './errors.ts';
import { type FieldError, fieldErrors } from './fields.ts';
import { withoutKeys } from './pasted-keys.ts';
import { noteRequest, timeEntryRequest } from './record-kinds.ts';
import { MINUTE_MS } from './refused-use.ts';

/** How many refused requests are kept of each key, and of an organization: first the latest of each key and reason. */
export const KEPT_OF_KEY = 50;
export const KEPT_OF_ORGANIZATION = 5_000;

/** How long a refused request is kept. */
export const REFUSED_REQUEST_RETENTION_MS = 7 * DAY_MS;

const MAX_POINTERS = 10;

/** In place of a name or id that the caller made up: it can be any text. */
const UNKNOWN_POINTER = '/?';
const UNKNOWN_ID = '?';

/** The pointers of refused fields as they are stored, each once, at most 10. The names of fields that are not accepted are not. */
export function storedPointers(errors: readonly Pick<FieldError, 'code' | 'pointer'>[]): string[] {
  const names = [noteRequest, timeEntryRequest].flatMap(({ shape }) => Object.keys(shape));
  const known = new Set(['', ...names.map((name) => `/${name}`)]);
  const stored = errors.map(({ code, pointer }) =>
    code !== 'unknown_field' && known.has(pointer) ? pointer : UNKNOWN_POINTER,
  );
  return [...new Set(stored)].slice(0, MAX_POINTERS);
}

/** What a field accepts, as an error of the API says: every field refuses this value. */
export function fieldRule(pointer: string): string | undefined {
  const errors = [noteRequest, timeEntryRequest].flatMap((request) => {
    const names = Object.keys(request.shape);
    const { error } = request.safeParse(Object.fromEntries(names.map((name) => [name, 0])));
    return error ? fieldErrors(error) : [];
  });
  return errors.find((error) => error.pointer === pointer)?.detail.split('; send ')[1];
}

/** The ticket id in a path as it is stored. What cannot be the id of a ticket can be any text. */
export const storedTicketId = (ticketId: string, keyPrefix: string) =>
  DIRECTORY_ID.test(ticketId) ? withoutKeys(ticketId, keyPrefix) : UNKNOWN_ID;

/** How many refused requests an isolate stores in a minute. */
const MAX_OF_KEY = 10;
export const MAX_OF_ORGANIZATION = 60;
/** From here on it stores only the first request of a key for each reason, so that a flood of one hides no other. */
export const REPEATED_OF_KEY = 5;
/** How many organizations, keys and reasons of keys an isolate remembers in a minute. */
const MAX_COUNTS = 10_000;

/** Limits how many refused requests an isolate stores, so that a flood writes a bounded number of rows. */
export class RefusedRequestMeter {
  private minute = 0;
  private readonly counts = new Map<string, number>();

  /** Whether to store a request that is refused for a reason at `now` (UTC milliseconds). */
  admits({ organizationId, keyId }: KeyReference, reason: string, now: number): boolean {
    const minute = Math.floor(now / MINUTE_MS);
    if (minute !== this.minute) this.counts.clear();
    this.minute = minute;
    const ofKey = `${organizationId} ${keyId}`;
    const ofReason = `${ofKey} ${reason}`;
    const byOrganization = this.counts.get(organizationId) ?? 0;
    const byKey = this.counts.get(ofKey) ?? 0;
    const byReason = this.counts.get(ofReason) ?? 0;
    if (byKey >= (byReason === 0 ? MAX_OF_KEY : REPEATED_OF_KEY) || byOrganization >= MAX_OF_ORGANIZATION) return false;
    if (byReason === 0 && this.counts.size + 3 > MAX_COUNTS) return false;
    this.counts
      .set(organizationId, byOrganization + 1)
      .set(ofKey, byKey + 1)
      .set(ofReason, byReason + 1);
    return true;
  }
}
