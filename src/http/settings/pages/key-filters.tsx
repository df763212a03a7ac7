import type { KeyList } from '../../../services/keys/list-keys.ts';
import type { KeyQuery, ListedState } from '../../../services/keys/select-keys.ts';
import { isFiltered, keyListParameters, keyListPath } from '../key-query.ts';
import { usePage } from '../page-context.ts';

interface Props {
  query: KeyQuery;
  counts: KeyList['counts'];
}

const CHIPS: readonly (readonly [ListedState, string])[] = [
  ['live', 'In use'],
  ['expiring', 'Expiring'],
  ['ended', 'Ended'],
  ['all', 'All'],
];

/** The search, and links to the keys of each state. Both keep the other filters. */
export function KeyFilters({ query, counts }: Props) {
  const { base } = usePage();
  const numbers: Partial<Record<ListedState, number>> = counts;
  const others = keyListParameters({ ...query, text: undefined, before: undefined });
  return (
    <div class="toolbar">
      <search>
        <form method="get" action={`${base}/keys`} class="find">
          <label class="visually-hidden" for="q">
            Search by name or hint
          </label>
          <input
            id="q"
            name="q"
            type="search"
            value={query.text}
            placeholder="Search by name or hint"
            maxlength={100}
            autocomplete="off"
            spellcheck={false}
          />
          {others.map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <button type="submit" class="quiet">
            Search
          </button>
        </form>
      </search>
      <nav aria-label="States" class="state-chips">
        {CHIPS.map(([state, label]) => (
          <a
            href={keyListPath(base, { ...query, state, before: undefined })}
            aria-current={state === query.state ? 'true' : undefined}
          >
            {label}
            {numbers[state] !== undefined && <span class="number"> {numbers[state]}</span>}
          </a>
        ))}
        {isFiltered(query) && (
          <a href={keyListPath(base, { state: 'live' })} class="clear">
            Clear filters
          </a>
        )}
      </nav>
    </div>
  );
}
