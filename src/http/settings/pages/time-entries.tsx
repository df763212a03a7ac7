import { addDays, dateIn, dateText } from '../../../domain/calendar.ts';
import { MAX_REASON_LENGTH } from '../../../domain/decision-reason.ts';
import { APPROVAL_DECISIONS, type ApprovalDecision } from '../../../domain/record-kinds.ts';
import { isMarked } from '../../../domain/time-marks.ts';
import { keysOf } from '../../../lib/objects.ts';
import {
  type Entry,
  hasAllMarks,
  isFiltered,
  LISTED,
  MAX_ALL,
  MAX_SORTED,
  MAX_TOTAL,
  STATUSES,
  type TimeChoices,
  type TimeQuery,
  type TimeTotals,
} from '../../../services/work/time-queue.ts';
import { Options, Select, withSelected } from '../audit.tsx';
import type { FormState } from '../forms.ts';
import { addressOf, parametersOf, usePage } from '../page-context.ts';
import {
  Banner,
  counted,
  formatNumber,
  HiddenFields,
  money,
  Table,
  type TableColumn,
  Ticket,
  waitingText,
} from './components.tsx';
import { ErrorSummary, Field } from './form.tsx';
import { KeyName } from './key-facts.tsx';
import { Time } from './time.tsx';

/** Each decision: the verb of its button, the word for what is done, the kind of the button, and why it is final. */
export const DECISIONS = {
  APPROVED: {
    verb: 'Approve',
    word: 'approved',
    kind: undefined,
    final: 'approved time reaches your PSA within seconds. Correct an error there.',
  },
  REJECTED: {
    verb: 'Reject',
    word: 'rejected',
    kind: 'danger',
    final: 'rejected time never reaches your PSA. Time that was handed over from it may already be there.',
  },
} as const;

export const countedEntries = (count: number) => counted(count, 'entry', 'entries');
export const decidedText = (count: number, decision: ApprovalDecision) =>
  `${countedEntries(count)} ${DECISIONS[decision].word}`;

/** Totals in words: `12 entries, 340 minutes, amount 1,020.00`. */
const totalsText = ({ count, minutes, amountMinor }: Pick<TimeTotals, 'count' | 'minutes' | 'amountMinor'>) =>
  `${countedEntries(count)}, ${counted(minutes, 'minute')}, amount ${money(amountMinor)}`;

const clock = (at: number, timeZone: string) =>
  new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone }).format(at);

/** Why an entry is marked: `480 min: long, same as 14:02`. */
function marksText({ minutes, isLong, sameAs, dayMinutes }: Entry, timeZone: string): string {
  const reasons = [
    isLong && `${minutes} min: long`,
    sameAs !== null && `same as ${clock(sameAs, timeZone)}`,
    dayMinutes !== null && `${formatNumber(dayMinutes)} min in one day`,
  ];
  return reasons.filter(Boolean).join(', ');
}

const isUndecided = ({ approvals, status }: Entry) => approvals === 'settings' && status === 'SUBMITTED';

/** The columns of a list. Entries that can be selected have a checkbox, which is checked if `isSelected` says so. */
const columnsFor = (isSelected?: (entry: Entry) => boolean): readonly TableColumn<Entry>[] => [
  ['Time', (entry) => <WorkTime entry={entry} isSelected={isUndecided(entry) ? isSelected?.(entry) : undefined} />],
  ['Work', (entry) => <Work entry={entry} />],
  ['Technician', (of) => [<bdi>{of.technician}</bdi>, ' ', of.isOwn && <span class="chip">own time</span>]],
  ['Amount', (entry) => <Amount entry={entry} />],
];

/** Date and minutes, and why the entry is marked. */
function WorkTime({ entry, isSelected }: { entry: Entry; isSelected: boolean | undefined }) {
  const { timeZone } = usePage();
  const { id, workDate, minutes, technician, ticketId, amountMinor } = entry;
  return (
    <>
      {isSelected !== undefined && (
        <input
          type="checkbox"
          name="entry"
          value={id}
          checked={isSelected}
          aria-label={`Select ${minutes} min by ${technician} on ticket ${ticketId}`}
          data-minutes={minutes}
          data-amount={amountMinor}
          data-marked={isMarked(entry) || undefined}
        />
      )}
      <span class="when">
        {dateText(workDate)} · <strong>{minutes} min</strong>
      </span>
      {isMarked(entry) && <span class="mark"> {marksText(entry, timeZone)}</span>}
    </>
  );
}

/** How much of a text fits one line. A longer one opens. */
const LINE = 90;

/** The text, the ticket with its company and the key, and the decision. */
function Work({ entry }: { entry: Entry }) {
  const { text, ticketId, company, keyId, keyName, status, approvals, decidedAt, decidedBy, reason, refusal } = entry;
  return (
    <>
      {text.length > LINE || text.includes('\n') ? (
        <details class="long">
          <summary>
            <span>{text.slice(0, 2 * LINE)}</span>
          </summary>
          <span class="text">{text}</span>
        </details>
      ) : (
        <span class="text">{text}</span>
      )}
      <span class="minor">
        <Ticket id={ticketId} /> · <bdi>{company}</bdi> · <KeyName subject={{ id: keyId, name: keyName }} />
      </span>
      {(status !== 'SUBMITTED' || approvals === 'psa') && (
        <span class="minor decided">
          {status === 'SUBMITTED' ? 'waits' : DECISIONS[status].word}
          {decidedAt !== null && [' by ', <bdi>{decidedBy}</bdi>, ', ', <Time at={decidedAt} />]}
          {reason && [': ', <bdi>{reason}</bdi>]}
          {approvals === 'psa' && ', decided in your PSA'}
        </span>
      )}
      {refusal !== null && (status === 'APPROVED' || approvals === 'psa') && (
        <span class="mark">
          Not in the PSA: <bdi>{refusal}</bdi> Repair the cause and have the PSA take it.
        </span>
      )}
    </>
  );
}

function Amount({ entry: { billable, approvals, amountMinor, hourlyRateMinor } }: { entry: Entry }) {
  if (approvals === 'psa') return <span class="dash">–</span>;
  if (billable === 0) return <>Not billable</>;
  return (
    <span>
      {money(amountMinor)} <span class="minor">at {money(hourlyRateMinor)}</span>
    </span>
  );
}

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
  const { base } = usePage();
  const { query, choices, entries, totals, next, preselected } = props;
  const canDecide = query.state === 'waiting' && entries.some(isUndecided);
  const isSelected = (entry: Entry) => preselected === 'all' || (preselected === 'marked' && isMarked(entry));
  return (
    <>
      {choices.approvals === 'psa' && (
        <Banner tone="neutral">
          Your PSA approves new time. Entries from before that are approved or rejected here.
        </Banner>
      )}
      <Filters {...props} />
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

/** Why the list is empty. */
function Nothing({ query, last }: Props) {
  const { now, timeZone } = usePage();
  if (isFiltered(query)) return <>No entries match these filters.</>;
  if (query.state !== 'waiting')
    return <>{query.state === 'all' ? 'No time was logged' : `Nothing was ${query.state}`} yet.</>;
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
  if (totals)
    return (
      <>
        {totalsText(totals)}
        {query.state === 'waiting' &&
          !hasAllMarks({ waiting }) &&
          `. More than ${formatNumber(MAX_SORTED)} entries wait, so marks compare only those of the filter: select what to approve.`}
      </>
    );
  if (query.entry !== undefined) return <>Nothing is to decide here about this entry.</>;
  if (query.state !== 'waiting') return <>More than {formatNumber(MAX_TOTAL)} entries. Filter by dates for totals.</>;
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

/** The calendar month before the one of a date. */
function lastMonth(today: string): { from: string; to: string } {
  const to = addDays(`${today.slice(0, 8)}01`, -1);
  return { from: `${to.slice(0, 8)}01`, to };
}

/** The states as chips, and the other filters. */
function Filters({ query, choices }: Props) {
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
                At least … minutes
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
      <nav class="state-chips" aria-label="States">
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

interface ConfirmProps {
  /** Marked ones first, and then the longest. */
  entries: readonly Entry[];
  decision: ApprovalDecision;
  query: TimeQuery;
  form?: FormState;
  /** Why nothing is asked about other entries that were selected. */
  lost?: string | undefined;
}

const REASON = 'Reason for the rejection';
/** How many of the longest entries a confirmation names. */
const LONGEST = 5;

/** Asks for confirmation before time is approved or rejected. */
export function ConfirmTime({
  entries,
  decision,
  query,
  form = { values: new URLSearchParams() },
  lost,
}: ConfirmProps) {
  const { base } = usePage();
  const { verb, kind } = DECISIONS[decision];
  return (
    <>
      <ErrorSummary nothing="Nothing was decided." messages={form.messages} fields={[['reason', REASON]]} />
      {lost && <Banner tone="warning">{lost}</Banner>}
      <p>{questionText(entries, decision)}</p>
      <form method="post" action={`${base}/time/decide`} class="form">
        <HiddenFields fields={[...parametersOf(query), ['decision', decision]]} />
        <HiddenFields fields={entries.map(({ id }) => ['entry', id])} />
        {decision === 'REJECTED' && (
          <Field name="reason" form={form} control="line" label={REASON} max={MAX_REASON_LENGTH} required />
        )}
        <div class="actions">
          <button type="submit" class={kind}>
            {verb} {countedEntries(entries.length)}
          </button>
          <a href={addressOf(`${base}/time`, query)}>Cancel</a>
        </div>
      </form>
      <Table caption="Time to decide" kind="time" columns={columnsFor()} rows={entries.slice(0, LISTED)} />
      {entries.length > LISTED && <p>And {countedEntries(entries.length - LISTED)} more.</p>}
    </>
  );
}

/** What is asked, with what an administrator should notice before the answer. */
function questionText(entries: readonly Entry[], decision: ApprovalDecision): string {
  const { verb, final } = DECISIONS[decision];
  const sum = (name: 'minutes' | 'amountMinor') => entries.reduce((total, entry) => total + entry[name], 0);
  const totals = { count: entries.length, minutes: sum('minutes'), amountMinor: sum('amountMinor') };
  const longest = entries.map(({ minutes }) => minutes).sort((a, b) => b - a);
  const marked = entries.filter(isMarked).length;
  const own = entries.filter(({ isOwn }) => isOwn).length;
  const sentences = [
    `${verb} ${totalsText(totals)}? This is final: ${final}`,
    `Longest: ${longest.slice(0, LONGEST).join(', ')} min.`,
    marked > 0 && `Marked: ${countedEntries(marked)}.`,
    own > 0 && `Own time: ${countedEntries(own)}.`,
  ];
  return sentences.filter(Boolean).join(' ');
}
