import * as z from 'zod';
import { isLive, type KeyState } from '../../domain/api-key.ts';
import { DAY_MS } from '../../domain/calendar.ts';
import { REFUSED_USE_REASONS } from '../../domain/refused-use.ts';
import { compareNaturally } from '../../lib/natural-order.ts';
import type { KeyDetails } from './read-keys.ts';

// Which keys a list shows, and in which order: without I/O.

/** The states that a list can be limited to: `live` is every key that works, `ended` every other. */
const LISTED_STATES = ['live', 'expiring', 'ended', 'all'] as const;
export type ListedState = (typeof LISTED_STATES)[number];

const text = () => z.string().trim().min(1);
const days = () =>
  z
    .string()
    .regex(/^[1-9]\d{0,3}$/)
    .transform(Number);
const ignoredIfInvalid = <Type extends z.ZodType>(type: Type) => type.optional().catch(undefined);

/** Which keys to list, by the parameters of the list's address. A filter that is undefined matches every key. */
export const keyQuery = z.lazy(() =>
  z.object({
    /** A part of the name or the hint. */
    q: ignoredIfInvalid(text()),
    /** Undefined for the live keys, or for all of the refused ones. */
    state: ignoredIfInvalid(z.enum(LISTED_STATES)),
    /** Not replaced, and created by someone who is no longer an administrator. */
    former: ignoredIfInvalid(z.literal('yes')),
    /** Not replaced, and neither created nor used in this many days. */
    unused: ignoredIfInvalid(days()),
    /** Not replaced, and expires never, or within this many days. */
    expires: ignoredIfInvalid(z.literal('never').or(days())),
    refused: ignoredIfInvalid(z.enum(REFUSED_USE_REASONS)),
    /** Undefined for the order that fits the filter. */
    sort: ignoredIfInvalid(z.enum(['name', 'last'])),
    /** Lists ended keys that are older than the key with this id. */
    before: ignoredIfInvalid(text()),
  }),
);
export type KeyQuery = Partial<z.infer<typeof keyQuery>>;

export const stateOf = ({ state, refused }: KeyQuery): ListedState => state ?? (refused === undefined ? 'live' : 'all');

/** The state of a key in lists. A replaced key still works, until its grace period ends. */
export const stateInList = ({ state, successor }: Pick<KeyDetails, 'state' | 'successor'>): KeyState | 'replaced' =>
  isLive(state) && successor ? 'replaced' : state;

/** Whether a key has not been used for a number of days. A key without a write counts from its creation. */
export const isUnused = ({ lastWrite, createdAt }: KeyDetails, days: number, now: number): boolean =>
  now - (lastWrite?.at ?? createdAt) >= days * DAY_MS;

/** The keys that match the query, in its order. */
export function selectKeys(keys: readonly KeyDetails[], query: KeyQuery, now: number): KeyDetails[] {
  const { former, unused, expires } = query;
  const q = searchable(query.q ?? '').replaceAll('...', '…');
  const isOfCurrent = [former, unused, expires].some((filter) => filter !== undefined);
  const rank = rankFor(query);
  return keys
    .filter(
      (key) =>
        hasState(key, stateOf(query)) &&
        (searchable(key.name).includes(q) || searchable(key.hint).includes(q)) &&
        (!isOfCurrent || key.successor === null) &&
        (former === undefined || !key.creatorActive) &&
        (unused === undefined || isUnused(key, unused, now)) &&
        (expires === undefined || (expires === 'never' ? key.expiresAt === null : expiresWithin(key, expires, now))),
    )
    .toSorted((a, b) => compare(rank(a), rank(b)) || compareNaturally(a.name, b.name));
}

/** Texts that a search does not tell apart are equal. */
export const searchable = (text: string) => text.normalize('NFC').toLowerCase().trim();

function hasState(key: KeyDetails, state: ListedState): boolean {
  if (state === 'all') return true;
  if (state === 'expiring') return stateInList(key) === state;
  return isLive(key.state) === (state === 'live');
}

/** Whether a live key expires within a number of days. */
const expiresWithin = ({ state, expiresAt }: KeyDetails, days: number, now: number): boolean =>
  isLive(state) && expiresAt !== null && expiresAt - now <= days * DAY_MS;

/**
 * The number by which keys are sorted before their names: the latest write first, if asked. Otherwise keys that expire are
 * listed by their expiry, and unused keys by their latest write, oldest first.
 */
function rankFor({ sort, unused, state, expires }: KeyQuery): (key: KeyDetails) => number {
  const lastWrite = (key: KeyDetails) => key.lastWrite?.at ?? Number.NEGATIVE_INFINITY;
  if (sort === 'last') return (key) => -lastWrite(key);
  if (sort === undefined && unused !== undefined) return lastWrite;
  if (sort === undefined && (state === 'expiring' || expires !== undefined))
    return (key) => key.expiresAt ?? Number.POSITIVE_INFINITY;
  return () => 0;
}

/** Compares numbers, of which both may be infinite. */
const compare = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1);
