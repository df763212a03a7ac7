import type { Child } from 'hono/jsx';
import { addDays, dateIn, dateText } from '../../../domain/calendar.ts';
import { CHOOSING, isFiltered, STATUSES, type TimeQuery } from '../../../domain/time-query.ts';
import { keysOf } from '../../../lib/objects.ts';
import type { TimeChoices } from '../../../services/work/time-queue.ts';
import { Icon } from '../../page/icon.tsx';
import { addressOf, parametersOf, usePage } from '../page-context.ts';
import { counted, Menu, waitingText } from './components.tsx';
import { Options, Select, withSelected } from './select.tsx';
import { Time } from './time.tsx';

interface Props {
  query: TimeQuery;
  choices: TimeChoices;
}

/** The calendar month before the one of a date. */
function lastMonth(today: string): { from: string; to: string } {
  const to = addDays(`${today.slice(0, 8)}01`, -1);
  return { from: `${to.slice(0, 8)}01`, to };
}

/** The filters of a list, which a list of another state keeps. */
function keptFilters({ state: _, before: __, upTo: ___, entry: ____, ...filters }: TimeQuery) {
  return filters;
}

/** The states as chips, the other filters in a menu, and those that apply. */
export function TimeFilters({ query, choices }: Props) {
  const { base, organization, now, timeZone } = usePage();
  const { state } = query;
  const filters = keptFilters(query);
  const month = lastMonth(dateIn(timeZone, now));
  const isLastMonth = query.from === month.from && query.to === month.to;
  const chip = (text: Child, change: Partial<TimeQuery>, isCurrent: boolean) => (
    <a href={addressOf(`${base}/time`, { state, ...filters, ...change })} aria-current={isCurrent ? 'true' : undefined}>
      {text}
    </a>
  );
  const words = parametersOf({ state, ...filters }).map(
    ([name, value]) => `${name} “${choiceText(choices, name, value)}”`,
  );
  return (
    <>
      <p class="on-paper">
        {organization}: {words.join(', ')}. <Time at={now} />
      </p>
      <div class="lists">
        <nav class="state-chips" aria-label="States">
          <span>
            {statesOf(choices).map((one) =>
              chip(stateLabel(one, choices), { state: one }, one === state && query.entry === undefined),
            )}
          </span>
          <span>{chip('Last month', isLastMonth ? { from: undefined, to: undefined } : month, isLastMonth)}</span>
        </nav>
        <search>
          <Menu summary={['Filters', <Icon name="down" />]} group="page" kind="choose">
            <FilterForm query={query} choices={choices} />
          </Menu>
        </search>
      </div>
      {isFiltered(query) && <Applied query={query} choices={choices} isLastMonth={isLastMonth} />}
    </>
  );
}

function FilterForm({ query, choices }: Props) {
  const { base } = usePage();
  return (
    <form method="get" action={`${base}/time`} class="filters">
      <input type="hidden" name="state" value={query.state} />
      <label>
        Minutes, at least
        <input type="number" name="minutes" min="1" value={query.minutes?.toString()} />
      </label>
      {(['company', 'technician', 'key'] as const).map((name) => (
        <Select label={NAMES[name]} name={name}>
          <Options options={withSelected(query[name], undefined, choices[name])} value={query[name]} />
        </Select>
      ))}
      {(['from', 'to'] as const).map((name) => (
        <label>
          {NAMES[name]} <input type="date" name={name} value={query[name]} />
        </label>
      ))}
      <button type="submit">Show</button>
    </form>
  );
}

const NAMES = { company: 'Company', technician: 'Technician', key: 'Key', from: 'From', to: 'To' } as const;

/** The name of what a filter has chosen, or else its value. */
const choiceText = (choices: TimeChoices, name: string, value: string) =>
  (name === 'company' || name === 'technician' || name === 'key'
    ? choices[name].find(([id]) => id === value)?.[1]
    : undefined) ?? value;

/** The filters that apply, each with a link that removes it. */
function Applied({ query, choices, isLastMonth }: Props & { isLastMonth: boolean }) {
  const { base } = usePage();
  const { state, minutes, from, to, company, technician, key } = query;
  const texts = {
    minutes: minutes !== undefined && `At least ${counted(minutes, 'minute')}`,
    company: company && choiceText(choices, 'company', company),
    technician: technician && choiceText(choices, 'technician', technician),
    key: key && choiceText(choices, 'key', key),
    from: from !== undefined && !isLastMonth && `From ${dateText(from)}`,
    to: to !== undefined && !isLastMonth && `To ${dateText(to)}`,
    entry: false,
  } as const;
  const shown = CHOOSING.filter((name) => texts[name]);
  if (shown.length === 0) return null;
  return (
    <nav class="state-chips" aria-label="Filters that apply">
      {shown.map((name) => (
        <a
          href={addressOf(`${base}/time`, { state, ...keptFilters(query), [name]: undefined })}
          title="Remove this filter"
        >
          <bdi>{texts[name]}</bdi> <Icon name="close" />
        </a>
      ))}
      {shown.length > 1 && (
        <a href={addressOf(`${base}/time`, { state })} class="clear">
          Clear filters
        </a>
      )}
    </nav>
  );
}

/** The states in the order of their chips. On a phone, only the first are in view: time that the PSA refused is second. */
const statesOf = ({ refused }: TimeChoices): readonly TimeQuery['state'][] =>
  refused > 0 ? [...new Set(['waiting', 'refused', ...keysOf(STATUSES)] as const)] : keysOf(STATUSES);

const stateLabel = (state: TimeQuery['state'], { refused }: TimeChoices): Child =>
  state === 'refused'
    ? ['Not in the PSA ', refused > 0 && <span class="refusal">{waitingText(refused)}</span>]
    : `${state[0]?.toUpperCase()}${state.slice(1)}`;
