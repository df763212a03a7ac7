import type {
  FinishedReview,
  FinishedReviews,
  ReviewDue,
  ReviewOverview,
} from '../../../services/keys/read-reviews.ts';
import { Icon } from '../../page/icon.tsx';
import type { PageContext } from '../page-context.ts';
import { Banner, counted, Table } from './components.tsx';
import { Time } from './time.tsx';

const BANNERS = new Map([
  ['finished', 'The review is finished. Its evidence can be downloaded below.'],
  ['already_finished', 'The review was already finished.'],
]);

/** What a review is, below the title. */
export function ReviewsLead() {
  return <p class="minor">For each key that works: is it still needed, and who decided so, when and why?</p>;
}

/** The finished reviews, and a button that begins a new one. */
export function ReviewsPage({
  context,
  finished,
  older,
  open,
  due,
  done,
}: ReviewOverview & FinishedReviews & { context: PageContext; done: string | undefined }) {
  const banner = BANNERS.get(done ?? '');
  return (
    <>
      {banner && finished.length > 0 && <Banner>{banner}</Banner>}
      <section class="card" aria-labelledby="next">
        <h2 id="next">Next review</h2>
        <Due due={due} context={context} />
        {open ? (
          <p>
            A review is open. <a href={`${context.base}/review`}>Continue the review</a>
          </p>
        ) : (
          <form method="post" action={`${context.base}/review`} class="actions">
            <button type="submit">Start review</button>
          </form>
        )}
      </section>
      <h2>Finished reviews</h2>
      {finished.length === 0 ? <p>No review has been finished.</p> : <Finished of={finished} context={context} />}
      {older !== undefined && (
        <p>
          <a href={`${context.base}/reviews?before=${older}`}>Older reviews</a>
        </p>
      )}
    </>
  );
}

/** Until when the next review has to be finished. */
export function Due({ due, context }: { due: ReviewDue | null; context: PageContext }) {
  if (due === null) {
    return (
      <p>
        The <a href={`${context.base}/key-rules`}>key rules</a> do not require reviews. You can start one at any time.
      </p>
    );
  }
  const date = dueDateText(due);
  if (due.daysLeft < 0) {
    return (
      <p class="state late">
        <Icon name="alert" />
        Overdue since {date}
      </p>
    );
  }
  return (
    <p class="state">
      <Icon name="hourglass" />
      Due {date}, {daysLeftText(due.daysLeft)}
    </p>
  );
}

const dueDateText = ({ date }: ReviewDue) =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(Date.parse(date));
const daysLeftText = (days: number) => (days === 0 ? 'today' : `in ${counted(days, 'day')}`);

function Finished({ of: reviews, context }: { of: readonly FinishedReview[]; context: PageContext }) {
  return (
    <Table caption="Finished reviews" headings={['Finished', 'By', 'Started', 'Keys', 'Decisions', 'Evidence']}>
      {reviews.map(({ id, startedAt, finishedAt, finishedBy, keys, kept, revoked }) => (
        <tr>
          <th scope="row" data-label="Finished">
            <Time at={finishedAt ?? startedAt} context={context} />
          </th>
          <td data-label="By">
            <bdi>{finishedBy}</bdi>
          </td>
          <td data-label="Started">
            <Time at={startedAt} context={context} />
          </td>
          <td data-label="Keys">{keys}</td>
          <td data-label="Decisions">
            {kept} keep, {revoked} revoke
          </td>
          <td data-label="Evidence">
            <a href={`${context.base}/review/${id}/evidence.csv`}>Download as CSV</a>
          </td>
        </tr>
      ))}
    </Table>
  );
}
