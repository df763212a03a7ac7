import * as z from 'zod/mini';
import { keysOf } from '../lib/objects.ts';
import { AUDIT_TEXT_LENGTH } from './audit-actions.ts';
import { addDays } from './calendar.ts';
import { calendarDate, MAX_TEXT_LENGTH, wholeNumber } from './fields.ts';

/** How many entries a page lists, and how many "all" decides about at most. */
export const LISTED = 100;
export const MAX_ALL = 1_000;
// The characters of a text that a page or a file reads and shows. It shows fewer, so that no key that was pasted into a text
// is cut off, and therefore not recognized.
export const PAGE = { characters: 1_000, shown: 300 };
/** On a page of one entry: the whole text. */
export const ONE = { characters: MAX_TEXT_LENGTH, shown: MAX_TEXT_LENGTH };
export const FILE_PART = { limit: 2_500, characters: AUDIT_TEXT_LENGTH, shown: 3_000 };

/** The states of a filter, in the order of the page, and their statuses. */
export const STATUSES = {
  waiting: 'SUBMITTED',
  approved: 'APPROVED',
  rejected: 'REJECTED',
  /** Those that the PSA could not take, whatever was decided. */
  refused: undefined,
  all: undefined,
} as const;

/** How many characters of each text the page of a query reads and shows. */
export const textSizeOf = ({ entry }: TimeQuery) => (entry === undefined ? PAGE : ONE);

/** Which entries to show, where another page continues, and up to which `seq` an administrator has seen them. */
export const timeQuery = z.lazy(() =>
  z.object({
    state: z._default(z.enum(keysOf(STATUSES), `State must be one of ${keysOf(STATUSES).join(', ')}.`), 'waiting'),
    company: z.optional(z.string()),
    technician: z.optional(z.string()),
    key: z.optional(z.string()),
    /** One entry, whatever was decided about it. While it waits, also the one that it may repeat. */
    entry: z.optional(z.string()),
    minutes: wholeNumber('Minutes'),
    from: calendarDate('From'),
    to: calendarDate('To'),
    before: wholeNumber('Before'),
    upTo: wholeNumber('Before'),
  }),
);
export type TimeQuery = z.output<typeof timeQuery>;

/** The fields of a query that choose entries. */
export const CHOOSING = ['company', 'technician', 'key', 'minutes', 'from', 'to', 'entry'] as const;

export const isFiltered = (query: TimeQuery) => CHOOSING.some((name) => query[name] !== undefined);

/** How many days of decided time a query has that says no first day, so that its cost does not grow with the history. */
const DEFAULT_DAYS = 92;

/** The first day of a query: undefined if the query has the whole of what waits, what the PSA refused, or one entry. */
export function firstDayOf({ state, entry, from, to }: TimeQuery, today: string): string | undefined {
  if (from !== undefined || entry !== undefined || state === 'waiting' || state === 'refused') return from;
  return addDays(to ?? today, -DEFAULT_DAYS);
}
