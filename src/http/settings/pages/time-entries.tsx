import { dateText } from '../../../domain/calendar.ts';
import { MAX_REASON_LENGTH } from '../../../domain/decision-reason.ts';
import { APPROVAL_DECISIONS, type ApprovalDecision } from '../../../domain/record-kinds.ts';
import { keysOf } from '../../../lib/objects.ts';
import {
  type Entry,
  LISTED,
  MAX_ALL,
  MAX_DECIDED,
  MAX_TOTAL,
  STATUSES,
  type TimePart,
  type TimeQuery,
} from '../../../services/work/time-queue.ts';
import { Options, Select, withSelected } from '../audit.tsx';
import type { FormState } from '../forms.ts';
import { addressOf, parametersOf, usePage } from '../page-context.ts';
import { Banner, counted, HiddenFields, money, Table, type TableColumn, Ticket } from './components.tsx';
import { ErrorSummary, Field } from './form.tsx';
import { KeyName } from './key-facts.tsx';
import { Time } from './time.tsx';

/** Each decision: the verb of its button, the word for what is done, and the kind of the button. */
export const DECISIONS = {
  APPROVED: { verb: 'Approve', word: 'approved', kind: undefined },
  REJECTED: { verb: 'Reject', word: 'rejected', kind: 'danger' },
} as const;

const amountText = ({ amountMinor, hourlyRateMinor }: Entry) => `${money(amountMinor)} at ${money(hourlyRateMinor)}`;

export const countedEntries = (count: number) => counted(count, 'entry', 'entries');
export const decidedText = (count: number, decision: ApprovalDecision) =>
  `${countedEntries(count)} ${DECISIONS[decision].word}`;

/** Totals in words: `12 entries, 340 minutes, amount 1,020.00`. */
const totalsText = ({ count, minutes, amountMinor }: Pick<TimePart['totals'], 'count' | 'minutes' | 'amountMinor'>) =>
  `${countedEntries(count)}, ${counted(minutes, 'minute')}, amount ${money(amountMinor)}`;

function totalsOf(entries: readonly Entry[]) {
  const sum = (name: 'minutes' | 'amountMinor') => entries.reduce((total, entry) => total + entry[name], 0);
  return { count: entries.length, minutes: sum('minutes'), amountMinor: sum('amountMinor') };
}

const columnsFor = (canSelect: boolean): readonly TableColumn<Entry>[] => [
  [
    'Ticket',
    ({ id, ticketId, company, minutes, technician }) => (
      <>
        {canSelect && (
          <input
            type="checkbox"
            name="entry"
            value={id}
            aria-label={`Select ${minutes} min by ${technician} on ticket ${ticketId}`}
          />
        )}{' '}
        <Ticket id={ticketId} /> <bdi class="minor">{company}</bdi>
      </>
    ),
  ],
  ['Time', (of) => [`${of.minutes} min `, <span class="minor">{dateText(of.workDate)}</span>]],
  ['Amount', (of) => (of.billable === 1 ? amountText(of) : 'Not billable')],
  ['Technician', (of) => [<bdi>{of.technician}</bdi>, ' ', of.isOwn && <span class="chip">own time</span>]],
  ['Key', ({ keyId: id, keyName: name, keyHint: hint }) => <KeyName subject={{ id, name, hint }} />],
  ['Work', (entry) => <Work entry={entry} />],
];

/** The text, and the decision. */
function Work({ entry }: { entry: Entry }) {
  const { text, status, decidedAt, decidedBy, reason } = entry;
  return (
    <>
      <span class="text">{text}</span>
      {status !== 'SUBMITTED' && (
        <span class="minor">
          {' '}
          {DECISIONS[status].word}
          {decidedAt !== null && [' by ', <bdi>{decidedBy}</bdi>, ', ', <Time at={decidedAt} />]}
          {reason && [': ', <bdi>{reason}</bdi>]}
        </span>
      )}
    </>
  );
}

interface Props extends TimePart {
  query: TimeQuery;
}

export function TimePage(props: Props) {
  const { base } = usePage();
  const { query, entries, totals, next, approvals } = props;
  const canDecide = query.state === 'waiting';
  return (
    <>
      {approvals === 'psa' && (
        <Banner tone="neutral">
          Your PSA approves new time. Entries from before that are approved or rejected here.
        </Banner>
      )}
      <Filters {...props} />
      {entries.length === 0 ? (
        <Banner tone="neutral">No entries.</Banner>
      ) : (
        <form method="get" action={`${base}/time/decide`}>
          <p id="totals">
            {totals.count > MAX_TOTAL
              ? `More than ${countedEntries(MAX_TOTAL)}. Filter by dates for totals.`
              : totalsText(totals)}
          </p>
          <Table caption="Time entries" columns={columnsFor(canDecide)} rows={entries}>
            {canDecide && <Buttons {...props} />}
          </Table>
        </form>
      )}
      {next !== undefined && (
        <p>
          <a class="button quiet" href={addressOf(`${base}/time`, { ...query, before: next })}>
            More entries
          </a>
        </p>
      )}
    </>
  );
}

/** Decides about the selected entries, or about all that the page counted, as far as one form can. */
const Buttons = ({ query, totals: { count, lastSeq } }: Props) => (
  <div class="pages row">
    <HiddenFields fields={parametersOf({ ...query, upTo: lastSeq ?? undefined })} />
    <label hidden>
      <input type="checkbox" data-all="entry" /> Select all
    </label>
    {(['selected', 'all'] as const).map((which) =>
      APPROVAL_DECISIONS.map((decision) => (
        <button
          type="submit"
          name={which}
          value={decision}
          class={which === 'all' ? 'quiet' : DECISIONS[decision].kind}
        >
          {DECISIONS[decision].verb}{' '}
          {which === 'selected' ? which : count > MAX_ALL ? `the oldest ${MAX_ALL}` : `all ${count}`}…
        </button>
      )),
    )}
  </div>
);

/** The filters with a list, whose choices are those of the entries on the page. */
const CHOICES = [
  ['company', 'Company', ({ companyId, company }: Entry) => [companyId, company] as const],
  ['technician', 'Technician', ({ userId, technician }: Entry) => [userId, technician] as const],
  ['key', 'Key', ({ keyId, keyName, keyHint }: Entry) => [keyId, `${keyName} (${keyHint})`] as const],
] as const;

/** The states as chips, and the other filters. */
function Filters({ query, entries }: Props) {
  const { base } = usePage();
  const { state, before: _, ...others } = query;
  const isFiltered = Object.values(others).some((one) => one !== undefined);
  return (
    <>
      <search>
        <form method="get" action={`${base}/time`} class="toolbar">
          <input type="hidden" name="state" value={state} />
          <details class="more" open={isFiltered}>
            <summary>Filters</summary>
            <div class="filters">
              {CHOICES.map(([name, label, choiceOf]) => (
                <Select label={label} name={name}>
                  <Options options={withSelected(query[name], undefined, entries.map(choiceOf))} value={query[name]} />
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
        {keysOf(STATUSES).map((one) => (
          <a
            href={addressOf(`${base}/time`, { ...others, state: one })}
            aria-current={one === state ? 'true' : undefined}
          >
            {one[0]?.toUpperCase() + one.slice(1)}
          </a>
        ))}
        {isFiltered && (
          <a href={addressOf(`${base}/time`, { state })} class="clear">
            Clear filters
          </a>
        )}
      </nav>
    </>
  );
}

interface ConfirmProps {
  entries: readonly Entry[];
  decision: ApprovalDecision;
  query: TimeQuery;
  form?: FormState;
  /** What the request before has decided, in words. */
  done?: string;
}

const REASON = 'Reason for the rejection';

/** Asks for confirmation before time is approved or rejected. */
export function ConfirmTime({
  entries,
  decision,
  query,
  form = { values: new URLSearchParams() },
  done,
}: ConfirmProps) {
  const { base } = usePage();
  const { verb, kind } = DECISIONS[decision];
  const own = entries.filter(({ isOwn }) => isOwn).length;
  return (
    <>
      <ErrorSummary nothing="Nothing was decided." messages={form.messages} fields={[['reason', REASON]]} />
      {done && <Banner>{done}</Banner>}
      <p>
        {verb} {totalsText(totalsOf(entries))}? This cannot be undone.
        {own > 0 && ` Own time: ${countedEntries(own)}.`}
        {entries.length > MAX_DECIDED && ` At most ${MAX_DECIDED} are decided at once; the page then offers the rest.`}
      </p>
      <form method="post" action={`${base}/time/decide`} class="form">
        <HiddenFields fields={[...parametersOf(query), ['decision', decision]]} />
        <HiddenFields fields={entries.map(({ id }) => ['entry', id])} />
        {decision === 'REJECTED' && (
          <Field name="reason" form={form} control="line" label={REASON} max={MAX_REASON_LENGTH} required />
        )}
        <div class="actions">
          <button type="submit" class={kind}>
            {verb} {countedEntries(Math.min(MAX_DECIDED, entries.length))}
          </button>
          <a href={addressOf(`${base}/time`, query)}>Cancel</a>
        </div>
      </form>
      <Table caption="Time to decide" columns={columnsFor(false)} rows={entries.slice(0, LISTED)} />
      {entries.length > LISTED && <p>And {countedEntries(entries.length - LISTED)} more.</p>}
    </>
  );
}
