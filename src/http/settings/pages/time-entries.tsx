import type { Child } from 'hono/jsx';
import { addDays, dateIn, dateText } from '../../../domain/calendar.ts';
import { APPROVAL_DECISIONS, type Approver, RECORD_KINDS } from '../../../domain/record-kinds.ts';
import { isMarked } from '../../../domain/time-marks.ts';
import { firstDayOf, isFiltered, LISTED, MAX_ALL, type TimeQuery } from '../../../domain/time-query.ts';
import {
  type Entry,
  hasAllMarks,
  MAX_SORTED,
  MAX_TOTAL,
  type TimeChoices,
  type TimeTotals,
  totalsOf,
} from '../../../services/work/time-queue.ts';
import { addressOf, parametersOf, usePage } from '../page-context.ts';
import {
  Banner,
  CsvLink,
  formatNumber,
  HiddenFields,
  money,
  Table,
  type TableColumn,
  waitingText,
} from './components.tsx';
import { Time } from './time.tsx';
import { TimeFilters } from './time-filters.tsx';
import {
  clock,
  columnsFor,
  columnsWithState,
  countedEntries,
  DECISIONS,
  isUndecided,
  totalsText,
} from './time-table.tsx';

interface Props {
  entries: readonly Entry[];
  totals: TimeTotals | undefined;
  next: number | undefined;
  query: TimeQuery;
  choices: TimeChoices;
  /** Who decides about new time. */
  approvals: Approver;
  /** The latest decision, if nothing waits. */
  last: { by: string; at: number } | undefined;
  /** Whether time was ever logged. */
  hasTime: boolean;
  /** How many entries wait. */
  waiting: number;
  /** Which entries are selected when the page opens: all, the marked ones, or those with these ids, with commas. */
  preselected: string | undefined;
}

export function TimePage(props: Props) {
  const { base } = usePage();
  const { query, entries, totals, next, preselected, hasTime } = props;
  const canDecide = query.state === 'waiting' && entries.some(isUndecided);
  const ids = new Set<string>(preselected?.split(','));
  const isOne = query.entry !== undefined;
  const toEntered =
    isOne || query.state === 'refused'
      ? ({ id }: Entry) => addressOf(`${base}/time/entered`, { ...query, entry: id })
      : undefined;
  const isSelected = (entry: Entry) => ids.has('all') || (ids.has('marked') && isMarked(entry)) || ids.has(entry.id);
  return (
    <>
      <TimeFilters {...props} />
      {!hasTime ? (
        <NoTime />
      ) : entries.length === 0 ? (
        <Banner tone="neutral">
          <Nothing {...props} />
        </Banner>
      ) : (
        <form method="get" action={`${base}/time/decide`}>
          {(!isOne || canDecide) && (
            <p id="totals">
              <Summary {...props} />
            </p>
          )}
          {query.state === 'refused' && <WhatToDo />}
          {canDecide && <Bar {...props} />}
          {canDecide ? (
            <Table caption="Time entries" kind="time" columns={columnsFor(entries, isSelected, isOne)} rows={entries} />
          ) : (
            <Table
              caption="Time entries"
              kind="time with-state"
              columns={columnsWithState(isOne ? undefined : query.state, toEntered, isOne)}
              rows={entries}
            />
          )}
        </form>
      )}
      {next !== undefined && (
        <p>
          <a class="button quiet" href={addressOf(`${base}/time`, { ...query, before: next })}>
            More entries
          </a>
        </p>
      )}
      {totals && totals.groups.length > 1 && <Groups {...{ query, totals }} />}
    </>
  );
}

/** How time that the PSA refused gets there. */
function WhatToDo() {
  const { psa } = usePage();
  return (
    <p>
      Enter this time in <bdi>{psa}</bdi> by hand, and mark it as entered. Or repair the cause there, and ask your
      operator to have it sent again.
    </p>
  );
}

/** What a list is. */
export function TimeLead({
  query: { state, entry },
  approvals,
  waiting,
}: Pick<Props, 'query' | 'approvals' | 'waiting'>) {
  const { base, psa } = usePage();
  if (entry !== undefined)
    return (
      <p class="minor">
        <a href={addressOf(`${base}/time`, { state })}>Show the list</a>
      </p>
    );
  const leads: Record<TimeQuery['state'], Child> = {
    waiting:
      approvals === 'settings'
        ? 'Time becomes billable when you approve it.'
        : [
            ...['New time is approved in ', <bdi>{psa}</bdi>, '.'],
            waiting > 0 && ' Entries from before that are approved or rejected here.',
          ],
    approved: 'Newest first.',
    rejected: 'Newest first.',
    refused: ['Time that ', <bdi>{psa}</bdi>, ' did not take, and why.'],
    all: 'Newest first.',
  };
  return <p class="minor">{leads[state]}</p>;
}

/** The way to the first time. */
function NoTime() {
  const { base } = usePage();
  return (
    <section class="empty" aria-labelledby="first">
      <h2 id="first">No time was logged yet</h2>
      <p>An automation logs time with a key that has the scope Time entries.</p>
      <p class="row">
        <a class="button" href={addressOf(`${base}/new-key`, { scopes: RECORD_KINDS.time_entry.scope })}>
          Create a key
        </a>
        <a href="/docs/loop">How time gets here</a>
      </p>
    </section>
  );
}

type Group = TimeTotals['groups'][number];

interface TotalsLine extends Pick<Group, 'count' | 'minutes' | 'amountMinor'> {
  name: Child;
}

const ofTechnician = ({ technician, ...group }: Group): TotalsLine => ({
  ...group,
  name: <bdi>{technician}</bdi>,
});

/** The totals of each company, below them those of its technicians if it has several, and those of all. */
function linesOf({ groups, ...totals }: TimeTotals): TotalsLine[] {
  const lines = [...Map.groupBy(groups, ({ companyId }) => companyId).values()].flatMap((ofOne) => {
    const [group, ...others] = ofOne;
    if (!group) return [];
    const { company, technician } = group;
    const ofCompany = [
      <strong>
        <bdi>{company}</bdi>
      </strong>,
      others.length === 0 && [' · ', <bdi>{technician}</bdi>],
    ];
    const { groups: _, ...sum } = totalsOf(ofOne);
    return [{ ...sum, name: ofCompany }, ...(others.length === 0 ? [] : ofOne.map(ofTechnician))];
  });
  return [...lines, { ...totals, name: <strong>Total</strong> }];
}

const LINE_COLUMNS: readonly TableColumn<TotalsLine>[] = [
  ['Company', ({ name }) => name],
  ['Entries', ({ count }) => formatNumber(count)],
  ['Minutes', ({ minutes }) => formatNumber(minutes)],
  ['Amount', ({ amountMinor }) => (amountMinor === null ? '–' : money(amountMinor))],
];

function Groups({ query, totals }: { query: TimeQuery; totals: TimeTotals }) {
  const { base } = usePage();
  const lines = linesOf(totals);
  const isCut = lines.length > LISTED;
  return (
    <section>
      <div class="row spread">
        <h2>{query.state === 'rejected' ? 'Totals of rejected time' : 'Totals'}</h2>
        <CsvLink to={addressOf(`${base}/time-totals.csv`, { ...query, before: undefined })} of="Totals" />
      </div>
      <Table
        caption="Totals by company and technician"
        kind="totals"
        columns={LINE_COLUMNS}
        rows={isCut ? [...lines.slice(0, LISTED), ...lines.slice(-1)] : lines}
      />
      {isCut && <p>The file has all companies and technicians.</p>}
    </section>
  );
}

/** The first day of a list, if the query says none: ` since 29 Aug 2026`, and the way to earlier time. */
function useSince(query: TimeQuery): { since: string; earlier: Child } {
  const { base, now, timeZone } = usePage();
  const firstDay = query.from === undefined ? firstDayOf(query, dateIn(timeZone, now)) : undefined;
  if (firstDay === undefined) return { since: '', earlier: '' };
  const to = addressOf(`${base}/time`, { ...query, before: undefined, to: addDays(firstDay, -1) });
  return { since: ` since ${dateText(firstDay)}`, earlier: [' ', <a href={to}>Earlier</a>] };
}

/** Why the list is empty. */
function Nothing({ query, approvals, last }: Props) {
  const { base, now, timeZone } = usePage();
  const { since, earlier } = useSince(query);
  if (query.entry !== undefined) return <>Your organization does not have this entry.</>;
  if (query.from !== undefined && query.to !== undefined && query.from > query.to)
    return <>No entries match: the filter From is after To.</>;
  if (isFiltered(query))
    return (
      <>
        No entries{since} match these filters.{earlier}
      </>
    );
  if (query.state !== 'waiting')
    return (
      <>
        {query.state === 'all' ? 'No time was logged' : `Nothing was ${query.state}`}
        {since}.{earlier}
      </>
    );
  if (approvals === 'psa')
    return (
      <>
        Nothing waits here. <a href={`${base}/time?state=all`}>Show all time</a>
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
  const { psa } = usePage();
  const { since, earlier } = useSince(query);
  if (totals) {
    const leavesOut = totals.amountMinor !== null && totals.unpriced > 0;
    return (
      <>
        {countedEntries(totals.count)}
        {since}, {totalsText(totals)}
        {query.state === 'rejected' && totals.amountMinor !== null && ', not billed'}
        {(since || totals.rejected > 0 || leavesOut) && '.'}
        {totals.rejected > 0 && ` ${formatNumber(totals.rejected)} rejected left out.`}
        {leavesOut && (
          <>
            {' '}
            The amount leaves out {countedEntries(totals.unpriced)} that <bdi>{psa}</bdi> bills.
          </>
        )}
        {earlier}
        {query.state === 'waiting' &&
          !hasAllMarks({ waiting }) &&
          `. More than ${formatNumber(MAX_SORTED)} entries wait, so marks compare only those of the filter: select what to approve.`}
      </>
    );
  }
  if (query.state !== 'waiting')
    return (
      <>
        More than {formatNumber(MAX_TOTAL)} entries{since}. Filter by dates for totals.{earlier}
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
 * narrow screen, buttons leave out the words in a `span`.
 */
function Bar({ query, entries, totals, next, waiting }: Props) {
  const { base } = usePage();
  const marked = entries.filter(isMarked).length;
  const canApproveAll = query.entry === undefined && hasAllMarks({ waiting });
  const unmarked = totals && canApproveAll ? totals.count - totals.marked : 0;
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
        {select('all', isPart ? `Select all ${entries.length}` : 'Select all')}
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
          Approve {whichAll(unmarked, totals?.marked)}…
        </button>
      )}
    </div>
  );
}

/** Which entries that are not marked one form can approve. */
function whichAll(unmarked: number, marked = 0): string {
  if (unmarked > MAX_ALL) return `the longest ${formatNumber(MAX_ALL)}`;
  if (marked > 0) return `${formatNumber(unmarked)} unmarked`;
  return unmarked === 1 ? '1 entry' : `all ${formatNumber(unmarked)}`;
}
