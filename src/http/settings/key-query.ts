import { type KeyQuery, keyQuery, stateOf } from '../../services/keys/select-keys.ts';

// The filters of the list of keys in the address of the page.

/** Reads the filters from the address. Invalid values are ignored. */
export const readKeyQuery = (parameters: URLSearchParams): KeyQuery => keyQuery.parse(Object.fromEntries(parameters));

/** The parameters of a list of keys that are given. */
export const keyListParameters = (query: KeyQuery): [name: string, value: string][] =>
  Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));

/** The query string of a list of keys; empty for the plain list. */
export function keyListSearch(query: KeyQuery): string {
  const given = keyListParameters(query);
  return given.length > 0 ? `?${new URLSearchParams(given)}` : '';
}

export const keyListPath = (base: string, query: KeyQuery): string => `${base}/keys${keyListSearch(query)}`;

/** Whether the list is as an administrator opens it: every live key. */
export const isPlainList = (query: KeyQuery): boolean => stateOf(query) === 'live' && !isFiltered(query);

/** Whether the query has a filter that the chips of states do not show. */
export const isFiltered = ({ q, former, unused, expires, refused }: KeyQuery): boolean =>
  [q, former, unused, expires, refused].some((filter) => filter !== undefined);
