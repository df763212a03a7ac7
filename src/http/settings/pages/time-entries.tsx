import type { Child } from 'hono/jsx';
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
  totalsOf,
} from '../../../services/work/time-queue.ts';
import { addressOf, parametersOf, usePage } from '../page-context.ts';
import { Banner, formatNumber, HiddenFields, money, Table, type TableColumn, waitingText } from './components.tsx';
import { Time } from './time.tsx';
import { TimeFilters } from './time-filters.tsx';
import { amountHeading, clock, columnsFor, countedEntries, DECISIONS, isUndecided, totalsText } from './time-table.tsx';

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
  /** Which entries are selected when the page opens: all, the marked ones, or those with these ids, with commas. */
  preselected: string | undefined;
}

export function TimePage(props: Props) {
  const { base, psa } = usePage();
  const { query, choices, entries, totals, next, preselected } = props;
  const canDecide = query.state === 'waiting' && entries.some(isUndecided);
  const ids = new Set<string>(preselected?.split(','));
  const isSelected = (entry: Entry) => ids.has('all') || (ids.has('marked') && isMarked(entry)) || ids.has(entry.id);
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

/** A line of the totals, which is of a whole company if it has no technician. */
type Line = Omit<Group, 'technician'> & { technician: string | undefined };

/** The totals with a line for each company that has several. */
function withCompanies(groups: readonly Group[]): Line[] {
  const ofCompany = Map.groupBy(groups, ({ companyId }) => companyId);
  return [...ofCompany.values()].flatMap((lines): Line[] => {
    const [first] = lines;
    if (!first || lines.length === 1) return lines;
    return [...lines, { ...first, ...totalsOf(lines), technician: undefined }];
  });
}

const lineColumns = (query: TimeQuery): readonly TableColumn<Line>[] => [
  ['Company', ({ company }) => <bdi>{company}</bdi>],
  ['Technician', ({ technician }) => (technician === undefined ? <strong>All</strong> : <bdi>{technician}</bdi>)],
  ['Entries', ({ count }) => formatNumber(count)],
  ['Minutes', ({ minutes }) => formatNumber(minutes)],
  [amountHeading(query), ({ amountMinor }) => money(amountMinor)],
];

/** The totals of each company and technician. */
function Groups({ query, groups }: { query: TimeQuery; groups: readonly Group[] }) {
  const { base } = usePage();
  const lines = withCompanies(groups);
  return (
    <section>
      <div class="row spread">
        <h2>Totals</h2>
        <a class="button quiet" href={addressOf(`${base}/time-totals.csv`, { ...query, before: undefined })}>
          Totals as CSV
        </a>
      </div>
      <Table
        caption="Totals by company and technician"
        kind="totals"
        columns={lineColumns(query)}
        rows={lines.slice(0, LISTED)}
      />
      {lines.length > LISTED && <p>The file has more.</p>}
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
        {countedEntries(totals.count)}, {totalsText(totals)}
        {query.state === 'all' && ' without rejected time'}
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

/**
 * Selects entries, and decides about the selected ones or about all that are not marked, as far as one form can. On a
 * narrow screen, words in a `span` are left out.
 */
function Bar({ query, entries, totals, next, waiting }: Props) {
  const { base } = usePage();
  const marked = entries.filter(isMarked).length;
  const unmarked = totals && hasAllMarks({ waiting }) ? totals.count - totals.marked : 0;
  const isPart = next !== undefined || query.before !== undefined;
  const select = (which: 'all' | 'marked', text: Child) => (
    <a href={addressOf(`${base}/time`, { ...query, select: which })} data-select={which}>
      {text}
    </a>
  );
  return (
    <div class="decide row">
      <HiddenFields fields={parametersOf({ ...query, entry: undefined, upTo: totals?.lastSeq })} />
      <div class="row">
        {select('all', isPart ? [`Select all ${entries.length}`, <span> on this page</span>] : 'Select all')}
        {marked > 0 && marked < entries.length && select('marked', `Select marked (${marked})`)}
        <output data-selected />
      </div>
      {APPROVAL_DECISIONS.map((decision) => (
        <button type="submit" name="selected" value={decision} class={DECISIONS[decision].kind}>
          {DECISIONS[decision].verb}
          <span> selected</span>
        </button>
      ))}
      {unmarked > 0 && (
        <button type="submit" name="all" value="APPROVED" class="quiet">
          Approve {whichAll(unmarked)}
          {totals && totals.marked > 0 && <span> unmarked</span>}
          {unmarked === 1 && ' entry'}…
        </button>
      )}
    </div>
  );
}

/** Which entries that are not marked one form can approve. */
function whichAll(unmarked: number): string {
  if (unmarked > MAX_ALL) return `the longest ${formatNumber(MAX_ALL)}`;
  return unmarked === 1 ? '1' : `all ${formatNumber(unmarked)}`;
}
