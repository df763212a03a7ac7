import { MAX_REASON_LENGTH } from '../../../domain/access-review.ts';
import {
  type AccessReview,
  type AccessReviewKey,
  type AccessReviewOverview,
  keysToRevoke,
  type AccessReviewRow as Review,
} from '../../../services/keys/access-review.ts';
import type { Usage } from '../../../services/keys/key-usage.ts';
import { Icon } from '../../page/icon.tsx';
import { usePage } from '../page-context.ts';
import { type AccessReviewForm, AccessReviewRow, checksOf } from './access-review-row.tsx';
import { Banner, counted, Table, type TableColumn } from './components.tsx';
import { ErrorSummary } from './form.tsx';
import { KeyName } from './key-facts.tsx';
import { Ago, Time } from './time.tsx';

interface Props extends AccessReviewOverview {
  form: AccessReviewForm;
  usages: ReadonlyMap<string, Usage>;
  done: string | undefined;
  /** How many decisions were saved, and how many were not, from the address. */
  saved: string | undefined;
  notSaved: string | undefined;
}

const countOf = (keys: readonly AccessReviewKey[], status: AccessReviewKey['status']) =>
  keys.filter((key) => key.status === status).length;

export function AccessReviewLead() {
  return <p class="minor">For each key that works: is it still needed, and who decided so, when and why?</p>;
}

export function AccessReviewPage(props: Props) {
  const { base } = usePage();
  const { open, due, finished, hasMore } = props;
  return (
    <>
      <Banners {...props} />
      {open ? (
        <OpenReview {...props} open={open} />
      ) : (
        <section class="card" aria-labelledby="next">
          <h2 id="next">Next review</h2>
          <Due due={due} />
          <form method="post" action={`${base}/access-review`} class="actions">
            <button type="submit">Start review</button>
          </form>
        </section>
      )}
      <h2>Finished reviews</h2>
      {finished.length === 0 ? (
        <p>No review has been finished.</p>
      ) : (
        <Table caption="Finished reviews" columns={FINISHED} rows={finished} />
      )}
      {hasMore && (
        <p>
          <a href={`${base}/access-review?list=all`}>Older reviews</a>
        </p>
      )}
    </>
  );
}

const STARTED = new Map([
  ['started', 'The review has begun. It has every key that works now; keys created later are in the next one.'],
  ['already_open', 'A review was already open. This is it.'],
]);
const ENDED = new Map([
  ['finished', 'The review is finished. Its evidence can be downloaded below.'],
  ['already_finished', 'The review was already finished.'],
]);

function Banners({ open, finished, done = '', saved, notSaved, form }: Props) {
  if (isRefused(form)) {
    const fields = (open?.keys ?? []).map(({ key: { id, name } }) => [`reason-${id}`, name] as const);
    const messages = Object.fromEntries([...form.messages].map(([id, message]) => [`reason-${id}`, message]));
    const all = { ...messages, ...(form.message && { '': form.message }) };
    return <ErrorSummary nothing="Nothing was saved." messages={all} fields={fields} />;
  }
  const text = (open && STARTED.get(done)) ?? (finished.length > 0 ? ENDED.get(done) : undefined);
  const [savedCount, notSavedCount] = [count(saved), count(notSaved)];
  return (
    <>
      {text && <Banner>{text}</Banner>}
      {savedCount > 0 && <Banner>{counted(savedCount, 'decision')} saved.</Banner>}
      {notSavedCount > 0 && (
        <Banner tone="warning">
          {counted(notSavedCount, 'decision')} not saved: another administrator has decided on the key, or it has ended.
        </Banner>
      )}
    </>
  );
}

const isRefused = ({ message, messages }: AccessReviewForm) => message !== undefined || messages.size > 0;

/** A small number in the address; 0 for anything else. */
const count = (text = '') => (/^\d{1,3}$/.test(text) ? Number(text) : 0);

function OpenReview({ open: { review, keys }, rules, due, form, usages, saved }: Props & { open: AccessReview }) {
  const { base, userId, now, timeZone } = usePage();
  const undecided = countOf(keys, 'undecided');
  const text = `${keys.length - undecided} of ${counted(keys.length, 'key')} done`;
  const rows = keys
    .map((of) => ({ of, checks: of.status === 'undecided' ? checksOf(of.key, rules, now, timeZone) : undefined }))
    .toSorted((a, b) => (b.checks?.length ?? -1) - (a.checks?.length ?? -1));
  const toCheck = rows.filter(({ checks = [] }) => checks.length > 0).length;
  return (
    <>
      <section class="card" aria-label="Progress" data-accepted={saved !== undefined || undefined}>
        <div class="row spread">
          <strong>{text}</strong>
          {due && <Due due={due} />}
        </div>
        <progress
          max={Math.max(1, keys.length)}
          value={keys.length === 0 ? 1 : keys.length - undecided}
          aria-label={text}
        />
        <p class="minor">
          Started by <bdi>{review.startedBy}</bdi>, <Time at={review.startedAt} />. Nothing is revoked before an
          administrator finishes the review and confirms the keys.
          {toCheck > 0 && ` To check first: ${counted(toCheck, 'key')}, with the reasons, at the top.`}
        </p>
      </section>
      {undecided === 0 && <Finish review={review} keys={keys} />}
      <form
        method="post"
        action={`${base}/access-review/${review.id}/decisions`}
        class="sheet"
        data-draft={userId}
        data-entered={isRefused(form) || undefined}
      >
        <ol class="review">
          {rows.map(({ of, checks = [] }) => (
            <AccessReviewRow
              {...{ of, checks }}
              entered={form.entered.get(of.key.id)}
              message={form.messages.get(of.key.id)}
              usage={usages.get(of.key.id) ?? []}
            />
          ))}
        </ol>
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
      </form>
    </>
  );
}

const TO_REVOKE: readonly TableColumn<Pick<AccessReviewKey, 'key' | 'decision'>>[] = [
  ['Key', ({ key }) => <KeyName of={key} />],
  ['Last write', ({ key }) => (key.lastWrite ? <Ago at={key.lastWrite.at} /> : 'Never')],
  ['Reason', ({ decision }) => <bdi>{decision?.reason}</bdi>],
  ['Decided by', ({ decision }) => <bdi>{decision?.by}</bdi>],
];

/** Asks for confirmation before the review is finished, with the names of the keys that it revokes. */
function Finish({ review, keys }: AccessReview) {
  const { base } = usePage();
  const toRevoke = keysToRevoke(keys);
  return (
    <section class="card" aria-labelledby="finish">
      <h2 id="finish">Finish the review</h2>
      <p>
        Every key has a decision. {counted(countOf(keys, 'keep'), 'key')} will be kept. After this, no decision of the
        review can be changed, and its evidence can be downloaded.
      </p>
      {toRevoke.length > 0 && (
        <>
          <p>
            <strong>{counted(toRevoke.length, 'key')} will be revoked</strong> and{' '}
            {toRevoke.length === 1 ? 'stops' : 'stop'} working immediately. This cannot be undone.
          </p>
          <Table caption="Keys that will be revoked" columns={TO_REVOKE} rows={toRevoke} />
        </>
      )}
      <form method="post" action={`${base}/access-review/${review.id}/finish`} class="actions">
        {toRevoke.map(({ key }) => (
          <input type="hidden" name="revoke" value={key.id} />
        ))}
        {toRevoke.length > 0 ? (
          <button type="submit" class="danger">
            Finish and revoke {counted(toRevoke.length, 'key')}
          </button>
        ) : (
          <button type="submit">Finish review</button>
        )}
      </form>
    </section>
  );
}

function Due({ due }: Pick<Props, 'due'>) {
  const { base } = usePage();
  if (due === null) {
    return (
      <p>
        The <a href={`${base}/key-rules`}>key rules</a> do not require reviews. You can start one at any time.
      </p>
    );
  }
  const date = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(Date.parse(due.date));
  return due.daysLeft < 0 ? (
    <p class="state late">
      <Icon name="alert" />
      Overdue since {date}
    </p>
  ) : (
    <p class="state">
      <Icon name="hourglass" />
      Due {date}, {due.daysLeft === 0 ? 'today' : `in ${counted(due.daysLeft, 'day')}`}
    </p>
  );
}

const FINISHED: readonly TableColumn<Review>[] = [
  ['Finished', ({ finishedAt, startedAt }) => <Time at={finishedAt ?? startedAt} />],
  ['By', ({ finishedBy }) => <bdi>{finishedBy}</bdi>],
  ['Started', ({ startedAt }) => <Time at={startedAt} />],
  ['Keys', ({ keys }) => keys],
  ['Decisions', ({ kept, revoked }) => `${kept} keep, ${revoked} revoke`],
  ['Evidence', ({ id }) => <Evidence id={id} />],
];

function Evidence({ id }: Pick<Review, 'id'>) {
  const { base } = usePage();
  const file = `${base}/access-review/${id}/evidence.csv`;
  return (
    <>
      <a href={file}>Download as CSV</a>{' '}
      <a class="minor" href={`${file}?separator=semicolon`}>
        with semicolons
      </a>
    </>
  );
}
