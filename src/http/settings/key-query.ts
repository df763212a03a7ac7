import { RECORD_KIND_NAMES, RECORD_KINDS } from '../../domain/record-kinds.ts';
import { isRefusedUseReason } from '../../domain/refused-use.ts';
import { KEY_SORTS, type KeyQuery, LISTED_STATES } from '../../services/keys/select-keys.ts';

// The filters of the list of keys in the address of the page.

/** The creator in the address who stands for everyone who left. No id of a user has this character. */
export const FORMER_CREATORS = '*former';

/** Of days and of pages. */
const MAX_NUMBER = 3_650;

/** Reads the filters from the address. What is not valid there is ignored. */
export function readKeyQuery(parameters: URLSearchParams): KeyQuery {
  const text = (name: string) => parameters.get(name)?.trim() || undefined;
  const refused = text('refused');
  const [creator, expires, before] = [text('creator'), text('expires'), text('before')];
  const sort = text('sort') ?? '';
  const kind = RECORD_KIND_NAMES.find((one) => RECORD_KINDS[one].scope === text('scope'));
  const query = {
    text: text('q'),
    scope: kind && RECORD_KINDS[kind].scope,
    creator: creator === undefined ? undefined : creator === FORMER_CREATORS ? 'former' : { id: creator },
    unusedDays: wholeNumber(text('unused')),
    expires: expires === 'never' ? expires : wholeNumber(expires),
    refused: refused !== undefined && isRefusedUseReason(refused) ? refused : undefined,
    sort: KEY_SORTS.find((one) => one === sort.replace(/^-/, '')) ?? 'name',
    reversed: sort.startsWith('-'),
    page: wholeNumber(text('page')) ?? 1,
    before,
  } as const;
  // Who was refused may be a key in any state.
  const state = LISTED_STATES.find((one) => one === text('state')) ?? (query.refused ? 'all' : 'live');
  return { ...query, state };
}

/** A whole number from 1 to `MAX_NUMBER`. */
function wholeNumber(text: string | undefined): number | undefined {
  const number = /^\d{1,4}$/.test(text ?? '') ? Number(text) : 0;
  return number >= 1 && number <= MAX_NUMBER ? number : undefined;
}

/** The address of a list of keys: what is not the default, in a fixed order. */
export function keyListPath(base: string, query: Partial<KeyQuery>): string {
  const {
    text,
    state,
    scope,
    creator,
    unusedDays,
    expires,
    refused,
    sort = 'name',
    reversed,
    page = 1,
    before,
  } = query;
  const parameters = {
    q: text,
    state: state === (refused ? 'all' : 'live') ? undefined : state,
    scope,
    creator: creator === 'former' ? FORMER_CREATORS : creator?.id,
    unused: unusedDays,
    expires,
    refused,
    sort: sort === 'name' && !reversed ? undefined : `${reversed ? '-' : ''}${sort}`,
    before,
    page: page === 1 ? undefined : page,
  };
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return `${base}/keys${given.length > 0 ? '?' : ''}${new URLSearchParams(given)}`;
}

/** Whether the list is as an administrator opens it: every live key. */
export const isPlainList = (query: KeyQuery): boolean => query.state === 'live' && !isFiltered(query);

/** Whether the query has a filter that the chips of states do not show. */
export const isFiltered = ({ text, scope, creator, unusedDays, expires, refused }: KeyQuery): boolean =>
  [text, scope, creator, unusedDays, expires, refused].some((filter) => filter !== undefined);
