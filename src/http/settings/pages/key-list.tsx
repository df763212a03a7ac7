import type { DayLimits } from '../../../domain/day-limit.ts';
import type { KeyList } from '../../../services/keys/list-keys.ts';
import { KEY_NOTES, type ListedState, noteOf, stateOf } from '../../../services/keys/select-keys.ts';
import { Icon } from '../../page/icon.tsx';
import { isFiltered, isPlainList, keyListPath } from '../key-query.ts';
import { parametersOf, usePage } from '../page-context.ts';
import { NeedsAttention } from './attention.tsx';
import { Banner, counted, LinkButton, Menu, SearchForm } from './components.tsx';
import { organizationLimits, useText } from './day-use.ts';
import { Keys, type KeysProps } from './key-table.tsx';
import { RecipeLinks } from './new-key.tsx';
import { Time } from './time.tsx';

/** The states that a list can be limited to, as chips and in its heading. */
export const STATES: readonly (readonly [state: ListedState, chip: string, keys: string])[] = [
  ['live', 'In use', 'Keys'],
  ['expiring', 'Expiring', 'Expiring keys'],
  ['ended', 'Ended', 'Ended keys'],
  ['all', 'All', 'All keys'],
];

interface Props extends KeysProps {
  hasPsa: boolean;
}

/** The keys, with what needs attention, the filters and the selection. */
export function KeyListPage({ list, query, hasPsa, refused }: Props) {
  const note = noteOf(query);
  const advice = note ? KEY_NOTES[note].advice : list.facts.find(({ type }) => type === query.fact)?.kind.advice;
  return (
    <>
      {refused && (
        <Banner tone="warning" id="errors">
          {refused.why} <a href="#list">Select keys in the list</a>, then choose again.
        </Banner>
      )}
      {!hasPsa && (
        <Banner tone="danger">
          Write-back is off for this organization, so requests with its keys get 403. The provider of your PSA can turn
          it on.
        </Banner>
      )}
      {isPlainList(query) && <NeedsAttention facts={list.facts} />}
      {advice && <p class="advice">{advice}</p>}
      {isPlainList(query) && !hasWritten(list) && <FirstSteps keys={list.keys} />}
      {list.latestDay !== null && (
        <>
          <Filters list={list} query={query} />
          <Keys {...{ list, query, refused }} />
        </>
      )}
    </>
  );
}

/** Whether a key has written, one in use or another. */
const hasWritten = ({ latestDay, keys }: KeyList) => latestDay?.day || keys.some(({ lastWrite }) => lastWrite !== null);

/** The way to the first write, while no key has written. */
function FirstSteps({ keys }: Pick<KeyList, 'keys'>) {
  const { base, now } = usePage();
  return (
    <section class="empty" aria-labelledby="first">
      <h2 id="first">The first write</h2>
      <ol class="steps">
        <li>
          <h3>
            <a href={`${base}/new-key`}>Create a key</a>
            {keys.length > 0 && <span class="minor"> Done: {counted(keys.length, 'key')}</span>}
          </h3>
          <p>
            With a key, an automation adds internal notes, logs time, or both, and reads nothing. Create one for each
            workflow, so that you can revoke it alone.
          </p>
        </li>
        <li>
          <h3>Give it to the tool</h3>
          <p>A key is shown once: first open where it goes.</p>
          <RecipeLinks />
        </li>
        <li>
          <h3>Let the automation write</h3>
          <p>
            No write yet, as of <Time at={now} />. <a href={`${base}/keys`}>Check again</a>
          </p>
        </li>
      </ol>
    </section>
  );
}

interface LeadProps {
  list: KeyList;
  today: string;
  dayLimits: DayLimits;
}

/** How many keys there are, and what they have written today, below the title. */
export function Lead({ list: { counts, latestDay }, today, dayLimits }: LeadProps) {
  if (latestDay === null) return null;
  const use = latestDay.day === today ? latestDay : { records: 0, bytes: 0 };
  return (
    <p class="minor">
      {counts.live} in use. Today: {useText(use, organizationLimits(dayLimits.organization))}
    </p>
  );
}

export function Actions({ list: { latestDay, counts } }: Pick<Props, 'list'>) {
  const { base } = usePage();
  const summary = (
    <>
      <Icon name="more" />
      <span class="visually-hidden">More actions</span>
    </>
  );
  return (
    <>
      {latestDay !== null && (
        <Menu summary={summary} group="page" kind="overflow">
          <a href={`${base}/which-key`}>Which key is this?</a>
          <a href={`${base}/keys.csv`}>Download as CSV</a>
          {counts.live > 0 && (
            <a href={`${base}/revoke-all`} class="danger">
              Revoke all…
            </a>
          )}
        </Menu>
      )}
      <LinkButton to={`${base}/new-key`}>Create key</LinkButton>
    </>
  );
}

/** The search, and links to the keys of each state and each note. All keep the other filters. */
function Filters({ list: { counts, notes }, query }: Pick<Props, 'list' | 'query'>) {
  const { base } = usePage();
  const numbers: Partial<Record<ListedState, number>> = counts;
  return (
    <div class="toolbar" id="list">
      <SearchForm
        id="q"
        to={`${base}/keys`}
        label="Keys, owners, addresses"
        text={query.q}
        fields={parametersOf({ ...query, q: undefined, before: undefined })}
      />
      <nav aria-label="States" class="state-chips">
        {STATES.map(([state, chip]) => (
          <a
            href={keyListPath(base, { ...query, state, before: undefined })}
            aria-current={state === stateOf(query) ? 'true' : undefined}
          >
            {chip}
            {numbers[state] !== undefined && !query.q && <span class="number"> {numbers[state]}</span>}
          </a>
        ))}
        {notes.map(
          ({ note, count }) =>
            (count > 0 || query.fact === note) && (
              <a
                href={keyListPath(base, { ...query, fact: note, state: undefined, before: undefined })}
                aria-current={query.fact === note ? 'true' : undefined}
              >
                {KEY_NOTES[note].chip}
                {!query.q && <span class="number"> {count}</span>}
              </a>
            ),
        )}
        {isFiltered(query) && (
          <a href={keyListPath(base, {})} class="clear">
            Clear filters
          </a>
        )}
      </nav>
    </div>
  );
}
