import { RECORD_KIND_NAMES, RECORD_KINDS } from '../../../domain/record-kinds.ts';
import type { KeyList } from '../../../services/keys/list-keys.ts';
import type { KeyQuery, ListedState } from '../../../services/keys/select-keys.ts';
import { FORMER_CREATORS, isFiltered, keyListPath } from '../key-query.ts';
import type { PageContext } from '../page-context.ts';

interface Props {
  query: KeyQuery;
  creators: KeyList['creators'];
  context: PageContext;
}

const SORTS = [
  ['name', 'Name, A to Z'],
  ['-name', 'Name, Z to A'],
  ['last', 'Last write, newest first'],
  ['-last', 'Last write, oldest first'],
  ['writes', 'Most writes in 30 days'],
  ['-writes', 'Fewest writes in 30 days'],
  ['expires', 'Expires first'],
  ['-expires', 'Expires last'],
] as const;

/** The search, the order and the other filters of the list, as one form. */
export function KeyFilters({ query, creators, context }: Props) {
  const { text, state, refused, scope, creator, unusedDays, expires } = query;
  const isOpen = [scope, creator, unusedDays, expires].some((filter) => filter !== undefined);
  return (
    <search>
      <form method="get" action={`${context.base}/keys`} class="toolbar">
        <div class="grow">
          <label for="q">Search by name or hint</label>
          <input id="q" name="q" type="search" value={text} maxlength={100} autocomplete="off" spellcheck={false} />
        </div>
        <div>
          <label for="sort">Sort by</label>
          <select id="sort" name="sort">
            <Options of={SORTS} selected={`${query.reversed ? '-' : ''}${query.sort}`} />
          </select>
        </div>
        {state !== 'live' && <input type="hidden" name="state" value={state} />}
        {refused && <input type="hidden" name="refused" value={refused} />}
        <button type="submit" class="quiet">
          Apply
        </button>
        <details class="more" open={isOpen}>
          <summary>More filters</summary>
          <div>
            <Choice name="scope" label="Scope" of={SCOPES} selected={scope} />
            <Choice
              name="creator"
              label="Created by"
              of={creatorsToChoose(creators, creator)}
              selected={idOf(creator)}
            />
            <Choice name="unused" label="Unused for" of={daysToChoose(unusedDays)} selected={unusedDays} />
            <Choice
              name="expires"
              label="Expires"
              of={[['never', 'Never'], ...daysToChoose(expires === 'never' ? undefined : expires, 'within ')]}
              selected={expires}
            />
            <button type="submit" class="quiet">
              Apply filters
            </button>
          </div>
        </details>
      </form>
    </search>
  );
}

type Choices = readonly (readonly [value: string, label: string])[];

const SCOPES: Choices = RECORD_KIND_NAMES.map((kind) => [RECORD_KINDS[kind].scope, RECORD_KINDS[kind].scopeLabel]);
const idOf = (creator: KeyQuery['creator']) => (creator === 'former' ? FORMER_CREATORS : creator?.id);

function creatorsToChoose(creators: KeyList['creators'], chosen: KeyQuery['creator']): Choices {
  const listed = creators.map(({ id, name }) => [id, name] as const);
  const missing =
    chosen === undefined || chosen === 'former' || creators.some(({ id }) => id === chosen.id)
      ? []
      : [[chosen.id, chosen.id] as const];
  return [[FORMER_CREATORS, 'No longer an administrator'], ...listed, ...missing];
}

/** The usual numbers of days, and the chosen one. */
function daysToChoose(chosen: number | undefined, before = ''): Choices {
  const days = new Set([14, 30, 60, 90, 180, 365, ...(chosen === undefined ? [] : [chosen])]);
  return Array.from(days)
    .sort((a, b) => a - b)
    .map((number) => [String(number), `${before}${number} days`]);
}

interface ChoiceProps {
  name: string;
  label: string;
  of: Choices;
  selected: string | number | undefined;
}

function Choice({ name, label, of, selected }: ChoiceProps) {
  return (
    <label>
      {label}
      <select name={name}>
        <option value="">Any</option>
        <Options of={of} selected={selected} />
      </select>
    </label>
  );
}

const Options = ({ of, selected }: Pick<ChoiceProps, 'of' | 'selected'>) =>
  of.map(([value, label]) => (
    <option value={value} selected={value === String(selected)}>
      {label}
    </option>
  ));

const CHIPS: readonly (readonly [ListedState, string])[] = [
  ['live', 'In use'],
  ['current', 'Not replaced'],
  ['active', 'Active'],
  ['expiring', 'Expiring'],
  ['replaced', 'Replaced'],
  ['expired', 'Expired'],
  ['revoked', 'Revoked'],
  ['all', 'All'],
];

/** Links to the keys of each state. Of the live ones they have the number. */
export function StateChips({ query, counts, context }: Pick<Props, 'query' | 'context'> & Pick<KeyList, 'counts'>) {
  const numbers: Partial<Record<ListedState, number>> = counts;
  const shown = CHIPS.filter(([state]) => state !== 'current' || query.state === 'current');
  return (
    <nav aria-label="States" class="state-chips">
      {shown.map(([state, label]) => (
        <a
          href={keyListPath(context.base, { ...query, state, page: 1, before: undefined })}
          aria-current={state === query.state ? 'true' : undefined}
        >
          {label}
          {numbers[state] !== undefined && <span class="number"> {numbers[state]}</span>}
        </a>
      ))}
      {isFiltered(query) && (
        <a href={keyListPath(context.base, { state: 'live' })} class="clear">
          Clear filters
        </a>
      )}
    </nav>
  );
}
