import { dateText } from '../../../domain/calendar.ts';
import type { TimeQuery } from '../../../domain/time-query.ts';
import { type Entry, isRedacted } from '../../../services/work/time-queue.ts';
import { addressOf, parametersOf, usePage } from '../page-context.ts';
import { Cancel, counted, Facts, HiddenFields, money, Ticket } from './components.tsx';
import { Refusal } from './time-table.tsx';

interface Props {
  entry: Entry;
  /** The list that the page leads back to. */
  query: Omit<TimeQuery, 'entry'>;
}

/** Shows what to enter in the PSA, or that a text is to be removed there, and asks whether an administrator has done so. */
export function ConfirmEntered({ entry, query }: Props) {
  const { base, psa } = usePage();
  const { id, ticketId, company, workDate, minutes, billable, hourlyRateMinor, technician, text, refusal } = entry;
  return (
    <>
      <div class="question">
        <p>
          <strong>This is final.</strong> The entry leaves the list, and is not sent to <bdi>{psa}</bdi> again.
        </p>
        <p>
          {isRedacted(entry) ? 'Remove its text' : 'Enter it'} in <bdi>{psa}</bdi>
          {isRedacted(entry) && ', or enter the time there if it is missing,'} before you confirm.
        </p>
      </div>
      <Facts
        facts={[
          ['Ticket', <Ticket id={ticketId} />],
          ['Company', <bdi>{company}</bdi>],
          ['Date', dateText(workDate)],
          ['Time', counted(minutes, 'minute')],
          ['Technician', <bdi>{technician}</bdi>],
          ['Billable', billable === 1 ? `yes, ${money(hourlyRateMinor)} an hour` : 'no'],
          ['Text', <span class="text">{text}</span>],
          ['Refused', <Refusal reason={refusal} />],
        ]}
      />
      <form method="post" action={`${base}/time/entered`}>
        <HiddenFields fields={parametersOf({ ...query, entry: id, redacted: isRedacted(entry) ? 'yes' : undefined })} />
        <div class="actions">
          <button type="submit">{isRedacted(entry) ? 'Text removed' : 'Entered by hand'}</button>
          <Cancel to={addressOf(`${base}/time`, query)} />
        </div>
      </form>
    </>
  );
}
