import { dateIn, dateText } from '../../../domain/calendar.ts';
import { APPROVAL_DECISIONS } from '../../../domain/record-kinds.ts';
import { isMarked } from '../../../domain/time-marks.ts';
import {
  type Entry,
  firstDayOf,
  hasAllMarks,
  isFiltered,
  LISTED,
  MAX_ALL,
  MAX_SORTED,
  MAX_TOTAL,
  type TimeChoices,
  type TimeQuery,
  type TimeTotals,
} from '../../../services/work/time-queue.ts';
import { addressOf, parametersOf, usePage } from '../page-context.ts';
import { Banner, formatNumber, HiddenFields, money, Table, type TableColumn, waitingText } from './components.tsx';
import { Time } from './time.tsx';
import { TimeFilters } from './time-filters.tsx';
import { clock, columnsFor, DECISIONS, isUndecided, totalsText } from './time-table.tsx';

interface Props {
  entries: readonly Entry[];
  totals: TimeTotals | undefined;
  next: number | undefined;
  query: TimeQuery;
  choices: TimeChoices;
  /** The latest decision, if nothing waits. */
  last: { by: string; at: number } | undefined;
  /** How many entries wait. */
  waiting: number;
  /** Which entries are selected when the page opens: all, or the marked ones. */
  preselected: string | undefined;
}

export function TimePage(props: Props) {
  const { base, psa } = usePage();
  const { query, choices, entries, totals, next, preselected } = props;
  const canDecide = query.state === 'waiting' && entries.some(isUndecided);
  const isSelected = (entry: Entry) => preselected === 'all' || (preselected === 'marked' && isMarked(entry));
  return (
    <>
      {choices.approvals === 'psa' && (
        <Banner tone="neutral">
          New time is approved in <bdi>{psa}</bdi>. Entries from before that are approved or rejected here.
        </Banner>
      )}
      <TimeFilters {...props} />
      {entries.length === 0 ? (
        <Banner tone="neutral">
          <Nothing {...props} />
        </Banner>
      ) : (
        <form method="get" action={`${base}/time/decide`}>
          <p id="totals">
            <Summary {...props} />
          </p>
          {canDecide && <Bar {...props} />}
          <Table
            caption="Time entries"
            kind="time"
            columns={columnsFor(canDecide ? isSelected : undefined)}
            rows={entries}
          />
        </form>
      )}
      {next !== undefined && (
        <p>
          <a class="button quiet" href={addressOf(`${base}/time`, { ...query, before: next })}>
            More entries
          </a>
        </p>
      )}
      {totals && totals.groups.length > 1 && <Groups {...{ query, groups: totals.groups }} />}
    </>
  );
}

type Group = TimeTotals['groups'][number];

const GROUP_COLUMNS: readonly TableColumn<Group>[] = [
  ['Company', ({ company }) => <bdi>{company}</bdi>],
  ['Technician', ({ technician }) => <bdi>{technician}</bdi>],
  ['Entries', ({ count }) => formatNumber(count)],
  ['Minutes', ({ minutes }) => formatNumber(minutes)],
  ['Amount', ({ amountMinor }) => money(amountMinor)],
];

/** The totals of each company and technician. */
function Groups({ query, groups }: { query: TimeQuery; groups: readonly Group[] }) {
  const { base } = usePage();
  return (
    <section>
      <div class="row spread">
        <h2>Totals</h2>
        <a class="button quiet" href={addressOf(`${base}/time-totals.csv`, { ...query, before: undefined })}>
          Totals as CSV
        </a>
      </div>
      <Table caption="Totals by company and technician" columns={GROUP_COLUMNS} rows={groups.slice(0, LISTED)} />
      {groups.length > LISTED && <p>And {formatNumber(groups.length - LISTED)} more, which the file has.</p>}
    </section>
  );
}

/** From which day on a list has entries, if the query says no first day: ` since 29 Aug 2026`. */
function sinceText(query: TimeQuery): string {
  const { now, timeZone } = usePage();
  const firstDay = query.from === undefined ? firstDayOf(query, dateIn(timeZone, now)) : undefined;
  return firstDay === undefined ? '' : ` since ${dateText(firstDay)}`;
}

/** Where “Nothing was …” does not say it. */
const NOTHING: Partial<Record<TimeQuery['state'], string>> = {
  all: 'No time was logged',
  refused: 'Your PSA refused nothing',
};

/** Why the list is empty. */
function Nothing({ query, last }: Props) {
  const { now, timeZone } = usePage();
  const since = sinceText(query);
  if (isFiltered(query)) return <>No entries{since} match these filters.</>;
  if (query.state !== 'waiting')
    return (
      <>
        {NOTHING[query.state] ?? `Nothing was ${query.state}`}
        {since}.
      </>
    );
  if (!last) return <>Nothing waits.</>;
  const isToday = dateIn(timeZone, last.at) === dateIn(timeZone, now);
  return (
    <>
      Nothing waits. Last decision: <bdi>{last.by}</bdi>, {isToday ? clock(last.at, timeZone) : <Time at={last.at} />}.
    </>
  );
}

/** The totals of all entries that match, or why there are none. */
function Summary({ query, totals, waiting }: Props) {
  const since = sinceText(query);
  if (totals)
    return (
      <>
        {totalsText(totals)}
        {since && `,${since}. Filter by dates for earlier time.`}
        {query.state === 'waiting' &&
          !hasAllMarks({ waiting }) &&
          `. More than ${formatNumber(MAX_SORTED)} entries wait, so marks compare only those of the filter: select what to approve.`}
      </>
    );
  if (query.entry !== undefined) return <>Nothing is to decide here about this entry.</>;
  if (query.state !== 'waiting')
    return (
      <>
        More than {formatNumber(MAX_TOTAL)} entries{since}. Filter by dates for totals.
      </>
    );
  return (
    <>
      {isFiltered(query) ? `More than ${formatNumber(MAX_SORTED)}` : waitingText(waiting)} entries wait, the newest
      first. Filter them: up to {formatNumber(MAX_SORTED)} are sorted, marked and summed.
    </>
  );
}

/** Selects entries, and decides about the selected ones or about all that are not marked, as far as one form can. */
function Bar({ query, entries, totals, waiting }: Props) {
  const { base } = usePage();
  const marked = entries.filter(isMarked).length;
  const unmarked = totals && hasAllMarks({ waiting }) ? totals.count - totals.marked : 0;
  const select = (which: 'all' | 'marked', text: string) => (
    <a href={addressOf(`${base}/time`, { ...query, select: which })} data-select={which}>
      {text}
    </a>
  );
  return (
    <div class="decide row">
      <HiddenFields fields={parametersOf({ ...query, before: undefined, entry: undefined, upTo: totals?.lastSeq })} />
      {select('all', 'Select all')}
      {marked > 0 && select('marked', `Select marked (${marked})`)}
      <output data-selected />
      {APPROVAL_DECISIONS.map((decision) => (
        <button type="submit" name="selected" value={decision} class={DECISIONS[decision].kind}>
          {DECISIONS[decision].verb} selected
        </button>
      ))}
      {unmarked > 0 && (
        <button type="submit" name="all" value="APPROVED" class="quiet">
          Approve {unmarked > MAX_ALL ? `the longest ${formatNumber(MAX_ALL)}` : `all ${formatNumber(unmarked)}`}
          {totals && totals.marked > 0 && ' unmarked'}…
        </button>
      )}
    </div>
  );
}
