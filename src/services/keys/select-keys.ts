import { isLive, type KeyState } from '../../domain/api-key.ts';
import { DAY_MS } from '../../domain/calendar.ts';
import type { RefusedUseReason } from '../../domain/refused-use.ts';
import { compareNaturally } from '../../lib/natural-order.ts';
import type { KeyDetails } from './read-keys.ts';

// Which keys a list shows, and in which order: without I/O.

/** The states that a list can be limited to: `live` is every key that works, `ended` every other. */
export const LISTED_STATES = ['live', 'expiring', 'ended', 'all'] as const;
export type ListedState = (typeof LISTED_STATES)[number];

export const KEY_SORTS = ['name', 'last'] as const;
export type KeySort = (typeof KEY_SORTS)[number];

/** Which keys to list. A filter that is undefined matches every key. */
export interface KeyQuery {
  text?: string | undefined;
  state: ListedState;
  /** Not replaced, and created by someone who is no longer an administrator. */
  former?: true | undefined;
  /** Not replaced, and neither created nor used in this many days. */
  unusedDays?: number | undefined;
  /** Not replaced, and expires never, or within this many days. */
  expires?: 'never' | number | undefined;
  refused?: RefusedUseReason | undefined;
  /** Undefined for the order that fits the filter. */
  sort?: KeySort | undefined;
  /** Lists ended keys that are older than the key with this id. */
  before?: string | undefined;
}

/** The state of a key in lists. A replaced key still works, until its grace period ends. */
export const stateInList = ({ state, successor }: Pick<KeyDetails, 'state' | 'successor'>): KeyState | 'replaced' =>
  isLive(state) && successor ? 'replaced' : state;

/** Whether a key has not been used for a number of days. A key without a write counts from its creation. */
export const isUnused = ({ lastWrite, createdAt }: KeyDetails, days: number, now: number): boolean =>
  now - (lastWrite?.at ?? createdAt) >= days * DAY_MS;

/** Whether a live key expires within a number of days. */
export const expiresWithin = ({ state, expiresAt }: KeyDetails, days: number, now: number): boolean =>
  isLive(state) && expiresAt !== null && expiresAt - now <= days * DAY_MS;

export function matchingKeys(keys: readonly KeyDetails[], query: KeyQuery, now: number): KeyDetails[] {
  const { state, former, unusedDays, expires } = query;
  const text = searchable(query.text ?? '').replaceAll('...', '…');
  const isOfCurrent = former !== undefined || unusedDays !== undefined || expires !== undefined;
  return keys.filter(
    (key) =>
      hasState(key, state) &&
      (searchable(key.name).includes(text) || searchable(key.hint).includes(text)) &&
      (!isOfCurrent || key.successor === null) &&
      (former === undefined || !key.creatorActive) &&
      (unusedDays === undefined || isUnused(key, unusedDays, now)) &&
      (expires === undefined || (expires === 'never' ? key.expiresAt === null : expiresWithin(key, expires, now))),
  );
}

const searchable = (text: string) => text.normalize('NFC').toLowerCase().trim();

function hasState(key: KeyDetails, state: ListedState): boolean {
  if (state === 'all') return true;
  if (state === 'expiring') return stateInList(key) === state;
  return isLive(key.state) === (state === 'live');
}

/**
 * The keys in the order of the query: names in natural order, or the latest write first. Without an order, keys that
 * expire are listed by their expiry, and unused ones by their latest write, oldest first.
 */
export function sortedKeys(keys: readonly KeyDetails[], query: KeyQuery): KeyDetails[] {
  const lastWrite = (key: KeyDetails) => key.lastWrite?.at ?? Number.NEGATIVE_INFINITY;
  const expiry = (key: KeyDetails) => key.expiresAt ?? Number.POSITIVE_INFINITY;
  const rank =
    query.sort === 'last'
      ? (key: KeyDetails) => -lastWrite(key)
      : query.sort === 'name'
        ? () => 0
        : query.unusedDays !== undefined
          ? lastWrite
          : query.state === 'expiring' || query.expires !== undefined
            ? expiry
            : () => 0;
  return keys.toSorted((a, b) => compare(rank(a), rank(b)) || compareNaturally(a.name, b.name));
}

/** Compares numbers, of which both may be infinite. */
const compare = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1);
