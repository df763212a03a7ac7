import type { Child } from 'hono/jsx';
import { dateText } from '../../../domain/calendar.ts';
import type { ApprovalDecision } from '../../../domain/record-kinds.ts';
import { isMarked } from '../../../domain/time-marks.ts';
import type { Entry, TimeQuery, TimeTotals } from '../../../services/work/time-queue.ts';
import { usePage } from '../page-context.ts';
import { counted, formatNumber, money, type TableColumn, Ticket } from './components.tsx';
import { KeyName } from './key-facts.tsx';
import { Time } from './time.tsx';

/** Each decision: the verb of its button, the word for what is done, the kind of the button, and why it is final. */
export const DECISIONS = {
  APPROVED: {
    verb: 'Approve',
    word: 'approved',
    kind: undefined,
    final: (psa: Child): Child => ['Approved time reaches ', psa, ' within seconds. Correct an error there.'],
  },
  REJECTED: {
    verb: 'Reject',
    word: 'rejected',
    kind: 'danger',
    final: (psa: Child): Child => ['Rejected time never reaches ', psa, '.'],
  },
} as const;

export const countedEntries = (count: number) => counted(count, 'entry', 'entries');
export const decidedText = (count: number, decision: ApprovalDecision) =>
  `${countedEntries(count)} ${DECISIONS[decision].word}`;

/** Totals in words: `340 minutes, amount 1,020.00`. */
export const totalsText = ({ minutes, amountMinor }: Pick<TimeTotals, 'minutes' | 'amountMinor'>) =>
  `${counted(minutes, 'minute')}, amount ${money(amountMinor)}`;

/** The heading of the amounts of totals. */
export const amountHeading = (query: TimeQuery) => (query.state === 'all' ? 'Amount without rejected time' : 'Amount');

export const clock = (at: number, timeZone: string) =>
  new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone }).format(at);

/** Why an entry is marked: `long, possible duplicate of 14:02`, with a link to the other entry. */
function Marks({ entry: { isLong, sameAs, sameId, dayMinutes, technician, workDate } }: { entry: Entry }) {
  const { base, timeZone } = usePage();
  const reasons: readonly Child[] = [
    isLong && 'long',
    sameAs !== null && <a href={`${base}/time?entry=${sameId}`}>possible duplicate of {clock(sameAs, timeZone)}</a>,
    dayMinutes !== null && [<bdi>{technician}</bdi>, `: ${formatNumber(dayMinutes)} min on ${dateText(workDate)}`],
  ].filter(Boolean);
  return <span class="mark">{reasons.map((reason, index) => [index > 0 && ', ', reason])}</span>;
}

export const isUndecided = ({ approvals, status }: Entry) => approvals === 'settings' && status === 'SUBMITTED';

/** The columns of a list. Entries that can be selected have a checkbox, which is checked if `isSelected` says so. */
export const columnsFor = (isSelected?: (entry: Entry) => boolean): readonly TableColumn<Entry>[] => [
  ['Time', (entry) => <WorkTime entry={entry} isSelected={isUndecided(entry) ? isSelected?.(entry) : undefined} />],
  ['Work', (entry) => <Work entry={entry} />],
  ['Technician', (of) => [<bdi>{of.technician}</bdi>, ' ', of.isOwn && <span class="chip">own time</span>]],
  ['Amount', (entry) => <Amount entry={entry} />],
];

/** Date and minutes, and why the entry is marked. */
function WorkTime({ entry, isSelected }: { entry: Entry; isSelected: boolean | undefined }) {
  const { id, workDate, minutes, technician, ticketId, amountMinor } = entry;
  const worked = `${formatNumber(minutes)} min`;
  const time = (
    <span class="when">
      {dateText(workDate)} · <strong>{worked}</strong>
    </span>
  );
  const marks = isMarked(entry) && <Marks entry={entry} />;
  if (isSelected === undefined)
    return (
      <>
        {time} {marks}
      </>
    );
  return (
    <label>
      <input
        type="checkbox"
        name="entry"
        value={id}
        checked={isSelected}
        aria-label={`Select ${worked} by ${technician} on ticket ${ticketId}`}
        data-minutes={minutes}
        data-amount={amountMinor}
        data-marked={isMarked(entry) || undefined}
      />
      {time} {marks}
    </label>
  );
}

/** How much of a text fits one line. A longer one opens. */
const LINE = 90;

/** The text, the ticket with its company and the key, and the decision. */
function Work({ entry }: { entry: Entry }) {
  const { psa } = usePage();
  const {
    text,
    ticketId,
    company,
    keyId,
    keyName,
    status,
    approvals,
    decidedAt,
    decidedBy,
    reason,
    refusal,
    wasHandedOver,
  } = entry;
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
          {approvals === 'psa' && [', decided in ', <bdi>{psa}</bdi>]}
        </span>
      )}
      {wasHandedOver === 1 && status === 'SUBMITTED' && (
        <span class="minor">
          may already be in <bdi>{psa}</bdi>
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
