import { addDays, dateIn } from '../../../domain/calendar.ts';
import { keysOf } from '../../../lib/objects.ts';
import { isFiltered, STATUSES, type TimeChoices, type TimeQuery } from '../../../services/work/time-queue.ts';
import { addressOf, parametersOf, usePage } from '../page-context.ts';
import { Options, Select, withSelected } from './select.tsx';
import { Time } from './time.tsx';

/** The calendar month before the one of a date. */
function lastMonth(today: string): { from: string; to: string } {
  const to = addDays(`${today.slice(0, 8)}01`, -1);
  return { from: `${to.slice(0, 8)}01`, to };
}

/** The states as chips, and the other filters. */
export function TimeFilters({ query, choices }: { query: TimeQuery; choices: TimeChoices }) {
  const { base, organization, now, timeZone } = usePage();
  const { state, before: _, upTo: __, entry: ___, ...others } = query;
  const month = lastMonth(dateIn(timeZone, now));
  const isLastMonth = query.from === month.from && query.to === month.to;
  const chip = (text: string, change: Partial<TimeQuery>, isCurrent: boolean) => (
    <a href={addressOf(`${base}/time`, { state, ...others, ...change })} aria-current={isCurrent ? 'true' : undefined}>
      {text}
    </a>
  );
  const words = parametersOf({ state, ...others }).map(([name, value]) => {
    const options = name === 'company' || name === 'technician' || name === 'key' ? choices[name] : [];
    return `${name} “${options.find(([id]) => id === value)?.[1] ?? value}”`;
  });
  return (
    <>
      <p class="on-paper">
        {organization}: {words.join(', ')}. <Time at={now} />
      </p>
      <search>
        <form method="get" action={`${base}/time`} class="toolbar">
          <input type="hidden" name="state" value={state} />
          <details class="more" open={isFiltered(query)}>
            <summary>Filters</summary>
            <div class="filters">
              <label>
                Minutes, at least
                <input type="number" name="minutes" min="1" value={query.minutes?.toString()} />
              </label>
              {(['company', 'technician', 'key'] as const).map((name) => (
                <Select label={name[0]?.toUpperCase() + name.slice(1)} name={name}>
                  <Options options={withSelected(query[name], undefined, choices[name])} value={query[name]} />
                </Select>
              ))}
              {(['from', 'to'] as const).map((name) => (
                <label>
                  {name === 'from' ? 'From' : 'To'} <input type="date" name={name} value={query[name]} />
                </label>
              ))}
              <button type="submit">Show</button>
            </div>
          </details>
        </form>
      </search>
      <nav class="state-chips wrapping" aria-label="States">
        {keysOf(STATUSES).map((one) => chip(stateLabel(one), { state: one }, one === state))}
        {chip('Last month', isLastMonth ? { from: undefined, to: undefined } : month, isLastMonth)}
        {isFiltered(query) && (
          <a href={addressOf(`${base}/time`, { state })} class="clear">
            Clear filters
          </a>
        )}
      </nav>
    </>
  );
}

const stateLabel = (state: TimeQuery['state']) =>
  state === 'refused' ? 'Not in the PSA' : `${state[0]?.toUpperCase()}${state.slice(1)}`;
