import { isRefusedUseReason } from '../../domain/refused-use.ts';
import { KEY_SORTS, type KeyQuery, LISTED_STATES } from '../../services/keys/select-keys.ts';

// The filters of the list of keys in the address of the page.

const MAX_DAYS = 3_650;

/** Reads the filters from the address. Invalid values are ignored. */
export function readKeyQuery(parameters: URLSearchParams): KeyQuery {
  const text = (name: string) => parameters.get(name)?.trim() || undefined;
  const [refused, expires] = [text('refused'), text('expires')];
  const query = {
    text: text('q'),
    former: text('former') === 'yes' ? (true as const) : undefined,
    unusedDays: days(text('unused')),
    expires: expires === 'never' ? ('never' as const) : days(expires),
    refused: refused !== undefined && isRefusedUseReason(refused) ? refused : undefined,
    sort: KEY_SORTS.find((one) => one === text('sort')),
    before: text('before'),
  };
  // Who was refused may be a key in any state.
  const state = LISTED_STATES.find((one) => one === text('state')) ?? (query.refused ? 'all' : 'live');
  return { ...query, state };
}

/** A whole number from 1 to `MAX_DAYS`. */
function days(text: string | undefined): number | undefined {
  const number = /^\d{1,4}$/.test(text ?? '') ? Number(text) : 0;
  return number >= 1 && number <= MAX_DAYS ? number : undefined;
}

/** The parameters of a list of keys that differ from the default, in a fixed order. */
export function keyListParameters(query: Partial<KeyQuery>): (readonly [name: string, value: string])[] {
  const { text, state, former, unusedDays, expires, refused, sort, before } = query;
  const parameters = {
    q: text,
    state: state === (refused ? 'all' : 'live') ? undefined : state,
    former: former && 'yes',
    unused: unusedDays,
    expires,
    refused,
    sort,
    before,
  };
  return Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
}

export function keyListPath(base: string, query: Partial<KeyQuery>): string {
  const given = keyListParameters(query);
  return `${base}/keys${given.length > 0 ? '?' : ''}${new URLSearchParams(given.map(([name, value]) => [name, value]))}`;
}

/** Whether the list is as an administrator opens it: every live key. */
export const isPlainList = (query: KeyQuery): boolean => query.state === 'live' && !isFiltered(query);

/** Whether the query has a filter that the chips of states do not show. */
export const isFiltered = ({ text, former, unusedDays, expires, refused }: KeyQuery): boolean =>
  [text, former, unusedDays, expires, refused].some((filter) => filter !== undefined);
