import { isLive, type KeyState } from '../../domain/api-key.ts';
import { DAY_MS } from '../../domain/calendar.ts';
import type { RefusedUseReason } from '../../domain/refused-use.ts';
import type { Scope } from '../../domain/scopes.ts';
import type { KeyDetails } from './read-keys.ts';

// Which keys a list shows, and in which order: without I/O.

/**
 * The states that a list can be limited to. `live` is every key that works, `current` every one of
 * them without a successor.
 */
export const LISTED_STATES = [
  'live',
  'current',
  'active',
  'expiring',
  'replaced',
  'expired',
  'revoked',
  'all',
] as const;
export type ListedState = (typeof LISTED_STATES)[number];

export const KEY_SORTS = ['name', 'last', 'writes', 'expires'] as const;
export type KeySort = (typeof KEY_SORTS)[number];

/** Which keys to list. A filter that is undefined matches every key. */
export interface KeyQuery {
  /** A part of the name or the hint. */
  text?: string | undefined;
  state: ListedState;
  scope?: Scope | undefined;
  /** A user's id, or everyone who is no longer an active administrator. */
  creator?: { id: string } | 'former' | undefined;
  /** Neither created nor used in this many days. */
  unusedDays?: number | undefined;
  /** Expires never, or within this many days. */
  expires?: 'never' | number | undefined;
  /** Refused for this reason recently. */
  refused?: RefusedUseReason | undefined;
  sort: KeySort;
  reversed: boolean;
  /** From 1 on. */
  page: number;
  /** Lists keys that are older than the key with this id. */
  before?: string | undefined;
}

/** The state of a key in lists. A replaced key still works, until its grace period ends. */
export const stateInList = ({ state, successor }: Pick<KeyDetails, 'state' | 'successor'>): KeyState | 'replaced' =>
  isLive(state) && successor ? 'replaced' : state;

/** Whether a key has not been used for so many days. A key without a write counts from its creation. */
export const isUnused = ({ lastWrite, createdAt }: KeyDetails, days: number, now: number): boolean =>
  now - (lastWrite?.at ?? createdAt) >= days * DAY_MS;

/** Whether a live key expires within so many days. */
export const expiresWithin = ({ state, expiresAt }: KeyDetails, days: number, now: number): boolean =>
  isLive(state) && expiresAt !== null && expiresAt - now <= days * DAY_MS;

/** The keys that the filters of the query match. */
export function matchingKeys(keys: readonly KeyDetails[], query: KeyQuery, now: number): KeyDetails[] {
  const text = searchable(query.text ?? '').replaceAll('...', '…');
  return keys.filter(
    (key) =>
      hasState(key, query.state) &&
      (searchable(key.name).includes(text) || searchable(key.hint).includes(text)) &&
      (query.scope === undefined || key.scopes.includes(query.scope)) &&
      isBy(key, query.creator) &&
      (query.unusedDays === undefined || isUnused(key, query.unusedDays, now)) &&
      expiresAs(key, query.expires, now),
  );
}

const searchable = (text: string) => text.normalize('NFC').toLowerCase().trim();

function hasState(key: KeyDetails, state: ListedState): boolean {
  switch (state) {
    case 'all':
      return true;
    case 'live':
      return isLive(key.state);
    case 'current':
      return isLive(key.state) && key.successor === null;
    default:
      return stateInList(key) === state;
  }
}

function isBy(key: KeyDetails, creator: KeyQuery['creator']): boolean {
  if (creator === undefined) return true;
  return creator === 'former' ? !key.creatorActive : key.createdById === creator.id;
}

function expiresAs(key: KeyDetails, expires: KeyQuery['expires'], now: number): boolean {
  if (expires === undefined) return true;
  return expires === 'never' ? key.expiresAt === null : expiresWithin(key, expires, now);
}

const byText = new Intl.Collator('en', { numeric: true });

/**
 * The keys in the order of the query: names in natural order, the latest write, most writes or the
 * earliest expiry first. Keys that never wrote or never expire come last. `writes` has the writes
 * of each key by its id.
 */
export function sortedKeys(
  keys: readonly KeyDetails[],
  { sort, reversed }: Pick<KeyQuery, 'sort' | 'reversed'>,
  writes: ReadonlyMap<string, number> = new Map(),
): KeyDetails[] {
  const rank: Record<KeySort, (key: KeyDetails) => number> = {
    name: () => 0,
    last: ({ lastWrite }) => -(lastWrite?.at ?? Number.NEGATIVE_INFINITY),
    writes: ({ id }) => -(writes.get(id) ?? 0),
    expires: ({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY,
  };
  const of = rank[sort];
  const direction = reversed ? -1 : 1;
  return keys.toSorted((a, b) => direction * (compare(of(a), of(b)) || byText.compare(a.name, b.name)));
}

/** Compares numbers, of which both may be infinite. */
const compare = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1);
