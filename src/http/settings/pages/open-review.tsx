import { MAX_REASON_LENGTH } from '../../../domain/key-review.ts';
import type { StoredKeyRules } from '../../../services/keys/change-key-rules.ts';
import type { Usage } from '../../../services/keys/key-usage.ts';
import type { ReviewDue, ReviewedKey, ReviewWithKeys } from '../../../services/keys/read-reviews.ts';
import type { PageContext } from '../page-context.ts';
import type { ReviewForm } from '../review-form.ts';
import {
  REVIEW_FILTERS,
  type ReviewFilter,
  type ReviewQuery,
  type ReviewSelection,
  reviewPath,
} from '../review-query.ts';
import { Banner, counted, LinkButton } from './components.tsx';
import { ReviewRow } from './review-row.tsx';
import { Due } from './reviews.tsx';
import { Time } from './time.tsx';

interface Props extends ReviewWithKeys, ReviewSelection {
  query: ReviewQuery;
  form: ReviewForm;
  rules: StoredKeyRules;
  due: ReviewDue | null;
  usageOf: (keyId: string) => Usage;
  context: PageContext;
  done: string | undefined;
  /** How many decisions were saved, and how many were not, from the address. */
  saved: string | undefined;
  notSaved: string | undefined;
}

const countOf = (keys: readonly ReviewedKey[], filter: ReviewFilter) =>
  filter === 'all' ? keys.length : keys.filter(({ status }) => status === filter).length;

/** The button that leads to the end of the review. */
export function OpenReviewActions({ review, keys, context }: ReviewWithKeys & { context: PageContext }) {
  if (countOf(keys, 'undecided') > 0) return null;
  return <LinkButton to={`${context.base}/review/${review.id}/finish`}>Finish review…</LinkButton>;
}

/** An open review: its progress, and the form with which keys are decided on. */
export function OpenReviewPage(props: Props) {
  const { review, keys, shown, form, query, context, rules, usageOf } = props;
  const hasForm = shown.some(({ status }) => status === 'undecided');
  const rows = (
    <ol class="review">
      {shown.map((reviewed) => (
        <ReviewRow
          of={reviewed}
          reviewId={review.id}
          entered={form.entered.get(reviewed.key.id)}
          message={form.messages.get(reviewed.key.id)}
          usage={usageOf(reviewed.key.id)}
          {...{ context, rules }}
        />
      ))}
    </ol>
  );
  return (
    <>
      <Banners {...props} />
      <Progress {...props} />
      <Filters keys={keys} query={query} context={context} />
      {shown.length === 0 && (
        <Banner tone="neutral">
          {query.show === 'undecided'
            ? 'Every key has a decision. Finish the review to make it evidence.'
            : 'No keys of this kind.'}
        </Banner>
      )}
      {shown.length > 0 && !hasForm && (
        <div class="sheet">
          {rows}
          <Pages {...props} />
        </div>
      )}
      {hasForm && (
        <form method="post" action={`${context.base}/review/${review.id}/decisions`} class="sheet">
          {rows}
          <div class="review-end">
            <div class="field">
              <label for="reason">Reason for all keys marked “Keep” without their own</label>
              <input
                id="reason"
                name="reason"
                type="text"
                value={form.common}
                maxlength={MAX_REASON_LENGTH}
                autocomplete="off"
              />
            </div>
            <button type="submit">Save decisions</button>
          </div>
          <Pages {...props} />
        </form>
      )}
      <p>
        <a href={`${context.base}/reviews`}>Finished reviews</a>
      </p>
    </>
  );
}

const DONE = new Map([
  ['started', 'The review has begun. It has every key that works now; keys created later are in the next one.'],
  ['already_open', 'A review was already open. This is it.'],
]);

function Banners({ done, saved, notSaved, form }: Props) {
  if (form.messages.size > 0) {
    return <Banner tone="warning">Nothing was saved. Correct the keys marked below.</Banner>;
  }
  const [savedCount, notSavedCount] = [count(saved), count(notSaved)];
  const banner = DONE.get(done ?? '');
  return (
    <>
      {banner && <Banner tone="neutral">{banner}</Banner>}
      {savedCount > 0 && <Banner>{counted(savedCount, 'decision')} saved.</Banner>}
      {notSavedCount > 0 && (
        <Banner tone="warning">
          {counted(notSavedCount, 'decision')} not saved: another administrator has decided on the key, or it has ended.
        </Banner>
      )}
    </>
  );
}

/** A small number in the address; 0 for anything else. */
const count = (text = '') => (/^\d{1,2}$/.test(text) ? Number(text) : 0);

function Progress({ review, keys, due, context }: Props) {
  const done = keys.length - countOf(keys, 'undecided');
  const text = `${done} of ${counted(keys.length, 'key')} done`;
  return (
    <section class="card" aria-label="Progress">
      <div class="row spread">
        <strong>{text}</strong>
        {due && <Due due={due} context={context} />}
      </div>
      <progress max={Math.max(1, keys.length)} value={keys.length === 0 ? 1 : done} aria-label={text} />
      <p class="minor">
        Started by <bdi>{review.startedBy}</bdi>, <Time at={review.startedAt} context={context} />. Nothing is revoked
        before an administrator finishes the review and confirms the keys.
      </p>
    </section>
  );
}

const FILTER_LABELS: Record<ReviewFilter, string> = {
  undecided: 'To decide',
  keep: 'Keep',
  revoke: 'Revoke',
  ended: 'Ended',
  all: 'All',
};

function Filters({ keys, query, context }: Pick<Props, 'keys' | 'query' | 'context'>) {
  return (
    <nav aria-label="Decisions" class="state-chips">
      {REVIEW_FILTERS.map((show) => (
        <a href={reviewPath(context.base, { show, page: 1 })} aria-current={show === query.show ? 'true' : undefined}>
          {FILTER_LABELS[show]}
          <span class="number"> {countOf(keys, show)}</span>
        </a>
      ))}
    </nav>
  );
}

function Pages({ shown, matching, page, pages, query, context }: Props) {
  const to = (number: number) => reviewPath(context.base, { ...query, page: number });
  return (
    <div class="pages">
      <span class="minor">
        {shown.length} of {matching}
      </span>
      {pages > 1 && (
        <nav aria-label="Pages">
          {Array.from({ length: pages }, (_, index) => (
            <a href={to(index + 1)} aria-current={page === index + 1 ? 'page' : undefined}>
              {index + 1}
            </a>
          ))}
        </nav>
      )}
    </div>
  );
}
