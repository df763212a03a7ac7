import { type KeyQuery, keyQuery, stateOf } from '../../services/keys/select-keys.ts';
import { addressOf } from './page-context.ts';

// The filters of the list of keys in the address of the page.

/** Reads the filters from the address. Invalid values are ignored. */
export const readKeyQuery = (parameters: URLSearchParams): KeyQuery => keyQuery.parse(Object.fromEntries(parameters));

export const keyListPath = (base: string, query: KeyQuery): string => addressOf(`${base}/keys`, query);

/** Whether the list is as an administrator opens it: every live key. */
export const isPlainList = (query: KeyQuery): boolean => stateOf(query) === 'live' && !isFiltered(query);

/** Whether the query has a filter that the chips of states do not show. */
export const isFiltered = ({ q, fact, expires }: KeyQuery): boolean =>
  [q, fact, expires].some((filter) => filter !== undefined);
