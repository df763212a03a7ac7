import * as z from 'zod/mini';
import { isLive, type KeyState } from '../../domain/api-key.ts';
import { DAY_MS } from '../../domain/calendar.ts';
import { FACT_TYPES } from '../../domain/facts.ts';
import { compareNaturally } from '../../lib/natural-order.ts';
import { keysOf } from '../../lib/objects.ts';
import type { KeyDetails } from './read-keys.ts';

// Which keys a list shows, and in which order: without I/O.

/** The states that a list can be limited to: `live` is every key that works, `ended` every other. */
const LISTED_STATES = ['live', 'expiring', 'ended', 'all'] as const;
export type ListedState = (typeof LISTED_STATES)[number];

/** After how many days without a write a key is unused. A key that has never written counts from its creation. */
const UNUSED_DAYS = 60;

/** What the list tells about keys that work and are not replaced. It is information: no alert is sent about it. */
export const KEY_NOTES = {
  key_unused: {
    chip: 'Unused',
    words: `unused for ${UNUSED_DAYS} days`,
    advice: 'Revoke the key if no workflow needs it.',
    isAbout: ({ lastWrite, createdAt }: KeyDetails, now: number) =>
      now - (lastWrite?.at ?? createdAt) >= UNUSED_DAYS * DAY_MS,
  },
  key_of_former: {
    chip: 'Of former administrators',
    words: 'of former administrators',
    advice: 'Rotate the key, so that an administrator is responsible for it, or revoke it.',
    isAbout: ({ creatorActive }: KeyDetails) => !creatorActive,
  },
} as const;
export const KEY_NOTE_NAMES = keysOf(KEY_NOTES);
export type KeyNote = (typeof KEY_NOTE_NAMES)[number];

/** The note that the filter asks for; undefined for a fact that needs attention, and without the filter. */
export const noteOf = ({ fact }: KeyQuery) => KEY_NOTE_NAMES.find((note) => note === fact);

export const hasNote = (key: KeyDetails, note: KeyNote, now: number): boolean =>
  isLive(key.state) && key.successor === null && KEY_NOTES[note].isAbout(key, now);

const text = () => z.string().check(z.trim(), z.minLength(1));
const ignoredIfInvalid = <Type extends z.ZodMiniType>(type: Type) => z.catch(z.optional(type), undefined);

/** Which keys to list, by the parameters of the list's address. A filter that is undefined matches every key. */
export const keyQuery = z.lazy(() =>
  z.object({
    /** A part of one of the texts of `textsOf`. */
    q: ignoredIfInvalid(text()),
    /** Undefined for the live keys, or for all that need attention for the fact. */
    state: ignoredIfInvalid(z.enum(LISTED_STATES)),
    /** Those that a note, or facts of this type, are about. */
    fact: ignoredIfInvalid(z.enum([...FACT_TYPES, ...KEY_NOTE_NAMES])),
    /** Not replaced. */
    expires: ignoredIfInvalid(z.literal('never')),
    /** Undefined for the order that fits the filter. */
    sort: ignoredIfInvalid(z.enum(['name', 'last'])),
    /** Lists ended keys that are older than the key with this id. */
    before: ignoredIfInvalid(text()),
  }),
);
export type KeyQuery = Partial<z.infer<typeof keyQuery>>;

export const stateOf = (query: KeyQuery): ListedState =>
  query.state ?? (query.fact === undefined || noteOf(query) ? 'live' : 'all');

/** The state of a key in lists. A replaced key still works, until its grace period ends. */
export const stateInList = ({ state, successor }: Pick<KeyDetails, 'state' | 'successor'>): KeyState | 'replaced' =>
  isLive(state) && successor ? 'replaced' : state;

/** The keys that match the query, in its order. */
export function selectKeys(keys: readonly KeyDetails[], query: KeyQuery, now: number): KeyDetails[] {
  const rank = rankFor(query);
  const note = noteOf(query);
  return keys
    .filter(
      (key) =>
        hasState(key, stateOf(query)) &&
        matchOf(key, query.q) !== undefined &&
        (query.expires === undefined || (key.expiresAt === null && key.successor === null)) &&
        (note === undefined || hasNote(key, note, now)),
    )
    .toSorted((a, b) => compare(rank(a), rank(b)) || compareNaturally(a.name, b.name));
}

/** What a search looks in, in the order in which it shows a match. */
const textsOf = (key: KeyDetails): readonly (readonly [field: string, text: string])[] => [
  ['Name', key.name],
  ['Hint', key.hint],
  ['Owner', key.owner],
  ['Description', key.description],
  ['Created by', key.createdBy],
  ['Last write from', key.lastWrite?.from ?? ''],
  ...key.allowedNetworks.split(' ').map((network) => ['Allowed network', network] as const),
];

/** Where a key has the text of a search: the first of its texts. Without a search, that is its name. */
export function matchOf(key: KeyDetails, search = ''): readonly [field: string, text: string] | undefined {
  const q = searchable(search).replaceAll('...', '…');
  return textsOf(key).find(([, text]) => searchable(text).includes(q));
}

/** Texts that a search does not tell apart are equal. */
export const searchable = (text: string) => text.normalize('NFC').toLowerCase().trim().replaceAll(/\s+/g, ' ');

function hasState(key: KeyDetails, state: ListedState): boolean {
  if (state === 'all') return true;
  if (state === 'expiring') return stateInList(key) === state;
  return isLive(key.state) === (state === 'live');
}

/**
 * The number by which keys are sorted before their names: the latest write first, if asked. Otherwise keys that expire are
 * listed by their expiry, and unused keys by their latest write, oldest first.
 */
function rankFor({ sort, state, fact }: KeyQuery): (key: KeyDetails) => number {
  const lastWrite = (key: KeyDetails) => key.lastWrite?.at ?? Number.NEGATIVE_INFINITY;
  if (sort === 'last') return (key) => -lastWrite(key);
  if (sort === undefined && fact === 'key_unused') return lastWrite;
  if (sort === undefined && (state === 'expiring' || fact === 'key_expiring'))
    return (key) => key.expiresAt ?? Number.POSITIVE_INFINITY;
  return () => 0;
}

/** Compares numbers, of which both may be infinite. */
const compare = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1);
