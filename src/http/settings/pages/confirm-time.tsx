import { MAX_REASON_LENGTH } from '../../../domain/decision-reason.ts';
import type { ApprovalDecision } from '../../../domain/record-kinds.ts';
import { isMarked } from '../../../domain/time-marks.ts';
import { LISTED, type TimeQuery } from '../../../domain/time-query.ts';
import { type Entry, sumOf } from '../../../services/work/time-queue.ts';
import type { FormState } from '../forms.ts';
import { addressOf, parametersOf, usePage } from '../page-context.ts';
import { Banner, Cancel, counted, formatNumber, HiddenFields, Table } from './components.tsx';
import { ErrorSummary, Field } from './form.tsx';
import { columnsFor, countedEntries, DECISIONS, totalsText } from './time-table.tsx';

interface ConfirmProps {
  /** Marked ones first, and then the longest. */
  entries: readonly Entry[];
  decision: ApprovalDecision;
  /** How many marked entries all of the query leave out. */
  marked?: number | undefined;
  query: TimeQuery;
  form?: FormState;
  /** Why nothing is asked about other entries that were selected. */
  lost?: string | undefined;
  /** The ids of the selected entries, unless all of the query are offered. Cancel leads back to them. */
  selected?: readonly string[];
  /** Where the page of the list began. */
  before: number | undefined;
}

const REASON = 'Reason for the rejection';
/** How many of the longest entries a confirmation names. */
const LONGEST = 5;

/** Asks for confirmation before time is approved or rejected. */
export function ConfirmTime({
  entries,
  decision,
  marked = 0,
  query,
  form = { values: new URLSearchParams() },
  lost,
  before,
  selected,
}: ConfirmProps) {
  const { base } = usePage();
  const { verb, kind } = DECISIONS[decision];
  const select = selected?.slice(0, LISTED).join();
  const listed = entries.slice(0, LISTED);
  return (
    <>
      <ErrorSummary nothing="Nothing was decided." messages={form.messages} fields={[['reason', REASON]]} />
      {lost && <Banner tone="warning">{lost}</Banner>}
      <Question entries={entries} decision={decision} marked={marked} />
      <form method="post" action={`${base}/time/decide`} class="form">
        <HiddenFields fields={parametersOf({ ...query, before, decision })} />
        <HiddenFields fields={entries.map(({ id }) => ['entry', id])} />
        {decision === 'REJECTED' && (
          <Field name="reason" form={form} control="line" label={REASON} max={MAX_REASON_LENGTH} required />
        )}
        <div class="actions">
          <button type="submit" class={kind}>
            {verb} {countedEntries(entries.length)}
          </button>
          <Cancel to={addressOf(`${base}/time`, { ...query, before, select })} />
        </div>
      </form>
      <Table caption="Time to decide" kind="time" columns={columnsFor(listed)} rows={listed} />
      {entries.length > LISTED && <p>And {countedEntries(entries.length - LISTED)} more.</p>}
    </>
  );
}

/** What an administrator should notice before the answer: that it is final, what it is about, and what is unusual. */
function Question({
  entries,
  decision,
  marked: left,
}: Required<Pick<ConfirmProps, 'entries' | 'decision'>> & { marked: number }) {
  const { psa } = usePage();
  const longestOf = (some: readonly Entry[]) =>
    some
      .map(({ minutes }) => minutes)
      .sort((a, b) => b - a)
      .slice(0, LONGEST)
      .map(formatNumber);
  const marked = entries.filter(isMarked);
  const handedOver = entries.filter(({ wasHandedOver }) => wasHandedOver === 1).length;
  const own = entries.filter(({ isOwn }) => isOwn).length;
  const unusual = [
    marked.length > 0 && decision === 'REJECTED' && `Marked: ${countedEntries(marked.length)}.`,
    own > 0 && `Own time: ${countedEntries(own)}.`,
    left > 0 && `${counted(left, 'marked entry stays', 'marked entries stay')} in Waiting.`,
  ].filter(Boolean);
  return (
    <div class="question">
      <p>
        <strong>This is final.</strong> {DECISIONS[decision].final(<bdi>{psa}</bdi>)}
      </p>
      <p>
        {totalsText(sumOf(entries))}.{entries.length > 1 && ` Longest: ${longestOf(entries).join(', ')} min.`}
      </p>
      {unusual.length > 0 && <p>{unusual.join(' ')}</p>}
      {marked.length > 0 && decision === 'APPROVED' && (
        <Banner tone="warning">
          {entries.length === 1
            ? 'This entry is marked. Check it before you approve it.'
            : `${counted(marked.length, 'marked entry is', 'marked entries are')} among them, the longest of ${longestOf(marked)[0]} min.`}
        </Banner>
      )}
      {decision === 'REJECTED' && handedOver > 0 && (
        <Banner tone="warning">
          {countedEntries(handedOver)} may already be in <bdi>{psa}</bdi>, which was to decide before: remove rejected
          time there.
        </Banner>
      )}
    </div>
  );
}
