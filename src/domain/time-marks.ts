import { MAX_MINUTES } from './record-kinds.ts';

// Which entries that wait for approval an administrator should look at first.

/** From how many minutes on an entry is long, unless the organization's key rules say otherwise. */
export const DEFAULT_LONG_MINUTES = 240;
/** An entry may be a duplicate of one with the same ticket, minutes and text that was logged at most so long before. */
export const DUPLICATE_WITHIN_MS = 15 * 60_000;
/** The minutes of a day: more of one person's time on one date cannot be right. */
export const MINUTES_OF_DAY = MAX_MINUTES;

/** Why an entry is marked. */
export interface TimeMarks {
  /** From how many minutes on entries are long, if this one is; otherwise null. */
  longFrom: number | null;
  /** When the same entry was logged before (UTC milliseconds); null if it was not. */
  sameAs: number | null;
  /** The id of that entry. */
  sameId: string | null;
  /**
   * The minutes of its technician on its date, waiting and approved, if they are more than a day has and the entry is one of
   * the longest, without which the rest fits; otherwise null.
   */
  dayMinutes: number | null;
}

export const NO_MARKS: TimeMarks = { longFrom: null, sameAs: null, sameId: null, dayMinutes: null };

export const isMarked = ({ longFrom, sameAs, dayMinutes }: TimeMarks) =>
  longFrom !== null || sameAs !== null || dayMinutes !== null;
