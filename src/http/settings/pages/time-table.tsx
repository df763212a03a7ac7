import type { Child, PropsWithChildren } from 'hono/jsx';
import { dateText } from '../../../domain/calendar.ts';
import type { ApprovalDecision } from '../../../domain/record-kinds.ts';
import { isMarked } from '../../../domain/time-marks.ts';
import { STATUSES, type TimeQuery } from '../../../domain/time-query.ts';
import { type Entry, goesToPsa, isRedacted, type TimeTotals } from '../../../services/work/time-queue.ts';
import { Icon } from '../../page/icon.tsx';
import { addressOf, usePage } from '../page-context.ts';
import { counted, formatNumber, money, type TableColumn, Ticket } from './components.tsx';
import { KeyName } from './key-facts.tsx';
import { clockTime, ShortTime, spanText } from './time.tsx';

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

/** Totals in words: `340 minutes, amount 1,020.00`. Without the amount if the PSA computes it. */
export const totalsText = ({ minutes, amountMinor }: Pick<TimeTotals, 'minutes' | 'amountMinor'>) =>
  counted(minutes, 'minute') + (amountMinor === null ? '' : `, amount ${money(amountMinor)}`);

/** The headings of a file of totals. Those of rejected time say so, because it is not billed. */
export const totalsHeadings = ({ state }: TimeQuery) =>
  state === 'rejected'
    ? { count: 'Rejected entries', minutes: 'Rejected minutes', amount: 'Rejected amount' }
    : { count: 'Entries', minutes: 'Minutes', amount: 'Amount' };

export const clock = (at: number, timeZone: string) => clockTime(at, timeZone).slice(0, 5);

/**
 * Why an entry is marked: `long (240+)`, `possible duplicate, 2 min later` with a link to the row of the entry that it repeats,
 * or else to a page of that entry; `1,516 min that day` with a link to that time.
 */
function Marks({ entry, listed }: { entry: Entry; listed: ReadonlySet<string> }) {
  const { base, timeZone } = usePage();
  const { longFrom, sameAs, sameId, dayMinutes, loggedAt, userId, workDate } = entry;
  const reasons: readonly Child[] = [
    longFrom !== null && `long (${formatNumber(longFrom)}+)`,
    sameAs !== null &&
      sameId !== null && [
        <a
          href={listed.has(sameId) ? `#${sameId}` : `${base}/time?entry=${sameId}&select=none`}
          aria-label={`possible duplicate of the entry of ${clock(sameAs, timeZone)}`}
        >
          possible duplicate
        </a>,
        `, ${spanText(loggedAt - sameAs)} later`,
      ],
    dayMinutes !== null && (
      <a href={addressOf(`${base}/time`, { state: 'all', technician: userId, from: workDate, to: workDate })}>
        {formatNumber(dayMinutes)} min that day
      </a>
    ),
  ].filter(Boolean);
  return (
    <span class="marks">
      {reasons.map((reason) => (
        <span class="mark">{reason}</span>
      ))}
    </span>
  );
}

export const isUndecided = ({ approvals, status }: Entry) => approvals === 'settings' && status === 'SUBMITTED';

const TECHNICIAN: TableColumn<Entry> = [
  'Technician',
  (of) => [<bdi>{of.technician}</bdi>, ' ', of.isOwn && <span class="chip">own time</span>],
];
const AMOUNT: TableColumn<Entry> = ['Amount', (entry) => <Amount entry={entry} />];

/** About how many characters of a text fit one line: with a decision beside it, fewer. */
const TEXT_FITS = { alone: 80, withDecision: 50 };

/**
 * The columns of a list of these entries. Entries that can be selected have a checkbox, which is checked if `isSelected` says
 * so. `isOpen`: whether long texts are.
 */
export function columnsFor(
  entries: readonly Entry[],
  isSelected?: (entry: Entry) => boolean,
  isOpen = false,
): readonly TableColumn<Entry>[] {
  const listed = new Set(entries.map(({ id }) => id));
  return [
    [
      'Time',
      (entry) => (
        <WorkTime entry={entry} listed={listed} isSelected={isUndecided(entry) ? isSelected?.(entry) : undefined} />
      ),
    ],
    ['Work', (entry) => <Work entry={entry} fits={TEXT_FITS.alone} isOpen={isOpen} />],
    TECHNICIAN,
    AMOUNT,
  ];
}

/** The address of the page where an administrator marks a refused entry as entered by hand. */
type ToEntered = (entry: Entry) => string;

/**
 * The columns of a list with entries that do not wait here: also the decision about each, which the heading says if all have the
 * same. `isOpen`: whether long texts are.
 */
export const columnsWithState = (
  state?: TimeQuery['state'],
  toEntered?: ToEntered,
  isOpen = false,
): readonly TableColumn<Entry>[] => [
  ['Time', (entry) => <WorkTime entry={entry} />],
  ['Work', (entry) => <Work entry={entry} fits={TEXT_FITS.withDecision} isOpen={isOpen} />],
  TECHNICIAN,
  [
    state === 'approved' || state === 'rejected' ? STATES[STATUSES[state]].word : 'Decision',
    (entry) => (
      <>
        <Decision entry={entry} hasWord={state !== 'approved' && state !== 'rejected'} />
        {toEntered && <EnteredButton entry={entry} toEntered={toEntered} />}
      </>
    ),
  ],
  AMOUNT,
];

interface WorkTimeProps {
  entry: Entry;
  /** The ids of the entries on the page. */
  listed?: ReadonlySet<string>;
  isSelected?: boolean | undefined;
}

const NONE_LISTED: ReadonlySet<string> = new Set();

/** Date and minutes, and why the entry is marked. */
function WorkTime({ entry, listed = NONE_LISTED, isSelected }: WorkTimeProps) {
  const { id, workDate, minutes, technician, ticketId, amountMinor } = entry;
  const worked = `${formatNumber(minutes)} min`;
  const time = (
    <span class="when" id={id}>
      {dateText(workDate)}&nbsp;· <strong>{worked}</strong>
    </span>
  );
  const marks = isMarked(entry) && <Marks entry={entry} listed={listed} />;
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
        data-amount={amountMinor ?? undefined}
        data-marked={isMarked(entry) || undefined}
      />
      {time} {marks}
    </label>
  );
}

/** A text on one line, which opens if it is longer than about `fits` characters, with `children` below it. */
const OneLine = ({
  text,
  fits,
  isOpen,
  children,
}: PropsWithChildren<{ text: string; fits: number; isOpen: boolean }>) =>
  text.length > fits || text.includes('\n') ? (
    <details class="long" open={isOpen}>
      <summary>
        <span class="text">{text}</span>
      </summary>
      {children}
    </details>
  ) : (
    <span class="text">{text}</span>
  );

/** From how many characters on the name of a key is cut off before the name of the company. */
const LONG_KEY_NAME = 20;

/** The text, and the ticket with its company and the key. A desktop has these in one line, and cuts off what does not fit. */
function Work({ entry, fits, isOpen }: { entry: Entry; fits: number; isOpen: boolean }) {
  const { base, psa } = usePage();
  const { id, text, isCut, ticketId, company, keyId, keyName, status, refusal, wasHandedOver } = entry;
  const about = (
    <>
      <span class={isOpen ? 'minor' : 'minor line'} title={isOpen ? undefined : `${company} · ${keyName}`}>
        <span>
          <Ticket id={ticketId} />
          &nbsp;·&nbsp;
        </span>
        <bdi>{company}</bdi>
        <span class={keyName.length > LONG_KEY_NAME ? 'cut' : undefined}>
          &nbsp;·&nbsp;
          <KeyName subject={{ id: keyId, name: keyName }} />
        </span>
      </span>
      {wasHandedOver === 1 && status === 'SUBMITTED' && (
        <span class="minor">
          may already be in <bdi>{psa}</bdi>
        </span>
      )}
      {refusal !== null && goesToPsa(entry) && (
        <span class="minor">
          Refused: <Refusal reason={refusal} />
        </span>
      )}
    </>
  );
  // An open text can be long.
  return (
    <>
      {isOpen && about}
      <OneLine text={text} fits={fits} isOpen={isOpen}>
        {isCut && <a href={`${base}/time?entry=${id}`}>Whole text</a>}
      </OneLine>
      {!isOpen && about}
    </>
  );
}

/** The way to mark an entry as entered by hand. */
function EnteredButton({ entry, toEntered }: { entry: Entry; toEntered: ToEntered }) {
  if (!goesToPsa(entry) || entry.refusal === null) return null;
  const done = isRedacted(entry) ? 'Text removed by hand' : 'Entered by hand';
  return (
    <a
      class="button quiet"
      href={toEntered(entry)}
      aria-label={`${done}: ${entry.minutes} min on ticket ${entry.ticketId}`}
    >
      {done}…
    </a>
  );
}

/** Why the PSA refused an entry, in its words. */
export const Refusal = ({ reason }: { reason: string | null }) => (
  <q class="refusal">
    <bdi>{reason}</bdi>
  </q>
);

export const STATES = {
  SUBMITTED: { word: 'Waits', icon: 'hourglass' },
  APPROVED: { word: 'Approved', icon: 'check' },
  REJECTED: { word: 'Rejected', icon: 'ban' },
} as const;

/** Who decided: `Ada`, or `in HaloPSA by Ada`. With the word for what was decided: `Approved by Ada`, or `Approved in HaloPSA by Ada`. */
function Decider({ entry, word }: { entry: Entry; word: string | undefined }) {
  const { psa } = usePage();
  const { approvals, decidedBy, deciderType } = entry;
  // A decision of the PSA without a person has the name of the PSA.
  const isOfPerson = decidedBy !== null && deciderType === 'user';
  return (
    <bdi>
      {word !== undefined && (approvals === 'psa' ? `${word} ` : `${word} by `)}
      {approvals === 'psa' && ['in ', <bdi>{isOfPerson ? psa : (decidedBy ?? psa)}</bdi>, isOfPerson && ' by ']}
      {(isOfPerson || approvals === 'settings') && <bdi>{decidedBy}</bdi>}
    </bdi>
  );
}

/** What was decided, by whom and when, or who is to decide, and below it why. The heading can have the word for it. */
function Decision({ entry, hasWord }: { entry: Entry; hasWord: boolean }) {
  const { base } = usePage();
  const { id, status, decidedAt, reason, refusal, byHand } = entry;
  // With who decides: `Waits in HaloPSA`, or `Not in HaloPSA`.
  const { word, icon } =
    status === 'SUBMITTED' && refusal !== null && goesToPsa(entry)
      ? ({ word: 'Not', icon: 'alert' } as const)
      : STATES[status];
  return (
    <>
      <span class={`state ${status.toLowerCase()}`}>
        <Icon name={icon} />
        {isUndecided(entry) ? (
          [word, <a href={`${base}/time?entry=${id}`}>Decide</a>]
        ) : (
          <Decider entry={entry} word={hasWord ? word : undefined} />
        )}
        {decidedAt !== null && <ShortTime at={decidedAt} />}
      </span>
      {[reason, byHand].filter(Boolean).map((text) => (
        <span class="minor">
          <bdi>{text}</bdi>
        </span>
      ))}
    </>
  );
}

function Amount({ entry: { billable, status, amountMinor, hourlyRateMinor } }: { entry: Entry }) {
  if (amountMinor === null) return <span class="dash">–</span>;
  if (billable === 0) return <>Not billable</>;
  if (status === 'REJECTED')
    return (
      <span class="number">
        <s>{money(amountMinor)}</s> <span class="minor">not billed</span>
      </span>
    );
  return (
    <span>
      {money(amountMinor)} <span class="minor">at {money(hourlyRateMinor)}</span>
    </span>
  );
}
