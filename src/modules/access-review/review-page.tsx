import { REVIEW_DECISIONS, type ReviewDecision } from '../../domain/access-review.ts';
import { dateText } from '../../domain/calendar.ts';
import { MAX_REASON_LENGTH } from '../../domain/decision-reason.ts';
import { UNUSED_DAYS } from '../../domain/facts.ts';
import { lifetimeDays } from '../../domain/key-rules.ts';
import { companyIds } from '../../domain/key-settings.ts';
import { Icon } from '../../http/page/icon.tsx';
import type { FormState } from '../../http/settings/forms.ts';
import { usePage } from '../../http/settings/page-context.ts';
import {
  Banner,
  counted,
  formatNumber,
  type NamedFact,
  Scopes,
  stateLabel,
  Table,
  type TableColumn,
} from '../../http/settings/pages/components.tsx';
import { ConfirmKeys } from '../../http/settings/pages/confirm.tsx';
import { limitWords } from '../../http/settings/pages/day-use.ts';
import { ErrorSummary, Field } from '../../http/settings/pages/form.tsx';
import { CompanyNames, Creator, KeyName, OtherKey } from '../../http/settings/pages/key-facts.tsx';
import { Ago, Expiry, Time } from '../../http/settings/pages/time.tsx';
import type { Company } from '../../services/directory/companies.ts';
import type { StoredKeyRules } from '../../services/keys/change-key-rules.ts';
import { recordsOf, type Usage } from '../../services/keys/key-usage.ts';
import type { KeyDetails } from '../../services/keys/read-keys.ts';
import { isUnused } from '../../services/keys/select-keys.ts';
import { inDays } from './review-due.ts';
import type { AccessReviewRow } from './review-statements.ts';
import {
  type AccessReview,
  type AccessReviewKey,
  type AccessReviewOverview,
  isUndecided,
  keysToRevoke,
} from './reviews.ts';

/** A key of the open review, and the reasons to check it. */
interface Row {
  reviewed: AccessReviewKey;
  checks: readonly string[];
}

interface Props extends AccessReviewOverview {
  /** The values that were not saved, and the errors about them. */
  refused: FormState | undefined;
  usages: ReadonlyMap<string, Usage>;
  /** The companies that keys are limited to. */
  companies: readonly Company[];
  /** Whether other decisions of the form were saved than those that another administrator has made since. */
  isPartlySaved: boolean;
}

const COMMON_REASON = 'Reason for all keys marked “Keep” without their own';

export const DECISION_LABELS: Record<ReviewDecision, string> = { keep: 'Keep', revoke: 'Revoke' };

export function AccessReviewPage(props: Props) {
  const { base, now, timeZone } = usePage();
  const { open, rules, due, finished, hasMore, refused, isPartlySaved } = props;
  const rows = (open?.keys ?? [])
    .map((reviewed) => ({ reviewed, checks: reviewed.works ? checksOf(reviewed.key, rules, now, timeZone) : [] }))
    .toSorted((a, b) => urgency(b) - urgency(a));
  const reasons = rows.map(({ reviewed: { key } }) => [`reason-${key.id}`, key.name] as const);
  const fields = [...reasons, ['reason', COMMON_REASON] as const];
  return (
    <>
      {refused && <ErrorSummary nothing="Nothing was saved." messages={refused.messages} fields={fields} />}
      {isPartlySaved && (
        <Banner tone="warning">
          Not every decision is saved: another administrator has decided on a key since, or it has ended. The page shows
          the saved decisions.
        </Banner>
      )}
      {open ? (
        <OpenReview {...props} open={open} rows={rows} />
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

/** The saved decisions in the form. `shown` is the time of the decision that a new one replaces. */
function savedForm(keys: readonly AccessReviewKey[]): FormState {
  const values = new URLSearchParams();
  for (const { key, decision } of keys) {
    if (!decision) continue;
    values.set(`decision-${key.id}`, decision.decision);
    values.set(`reason-${key.id}`, decision.reason);
    values.set(`shown-${key.id}`, String(decision.at));
  }
  return { values };
}

/** The undecided keys with the most to check are first. */
const urgency = ({ reviewed, checks }: Row) => (isUndecided(reviewed) ? checks.length : -1);

function OpenReview(props: Props & { open: AccessReview; rows: readonly Row[] }) {
  const { base, userId } = usePage();
  const { rows, due, refused, usages, companies, isPartlySaved } = props;
  const { review, keys } = props.open;
  const undecided = keys.filter(isUndecided).length;
  const text = `${keys.length - undecided} of ${keys.length} decided`;
  const form = refused ?? savedForm(keys);
  return (
    <>
      <section class="card" aria-label="Progress" data-accepted={isPartlySaved || undefined}>
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
        </p>
      </section>
      {undecided === 0 && <Finish review={review} keys={keys} />}
      <form
        method="post"
        action={`${base}/access-review/${review.id}/decisions`}
        class="sheet"
        data-draft={userId}
        data-entered={refused !== undefined || undefined}
      >
        <ol class="review">
          {rows.map(({ reviewed, checks }) => (
            <ReviewedKey {...{ reviewed, checks, form, companies }} usage={usages.get(reviewed.key.id) ?? []} />
          ))}
        </ol>
        <div class="review-bar row spread">
          <span>
            <strong>
              {keys.length - undecided} of {keys.length}
              <span> decided</span>
            </strong>{' '}
            <span class="marked" />
          </span>
          <button type="submit" class={undecided === 0 ? 'quiet' : undefined}>
            Save
          </button>
        </div>
        <div class="review-end row">
          <Field name="reason" form={form} control="line" label={COMMON_REASON} max={MAX_REASON_LENGTH} />
          {undecided > 0 && (
            <button type="submit" name="others" value="keep" class="quiet">
              Save, and keep all others
            </button>
          )}
        </div>
      </form>
    </>
  );
}

/** Asks for confirmation before the review is finished, with the names of the keys that it revokes. */
function Finish({ review, keys }: AccessReview) {
  const { base } = usePage();
  const toRevoke = keysToRevoke(keys);
  const reasons = new Map(toRevoke.map(({ id, reason }) => [id, reason]));
  const action = `${base}/access-review/${review.id}/finish`;
  return (
    <section class="card" aria-labelledby="finish">
      <h2 id="finish">Finish the review</h2>
      <p>
        Every key has a decision. {counted(review.kept, 'key')} will be kept. After this, no decision of the review can
        be changed, and its evidence can be downloaded.
      </p>
      {toRevoke.length === 0 ? (
        <form method="post" action={action} class="actions">
          <button type="submit">Finish review</button>
        </form>
      ) : (
        <ConfirmKeys
          keys={toRevoke}
          columns={[['Reason', ({ id }) => <bdi>{reasons.get(id)}</bdi>]]}
          action={action}
          fields={toRevoke.map(({ id }) => ['revoke', id])}
          button={`Finish and revoke ${counted(toRevoke.length, 'key')}`}
          isRevocation
        />
      )}
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
  const { date, daysLeft } = due;
  return (
    <p class={`state ${daysLeft < 0 ? 'late' : ''}`}>
      <Icon name={daysLeft < 0 ? 'alert' : 'hourglass'} />
      {daysLeft < 0 ? `Overdue since ${dateText(date)}` : `Due ${dateText(date)}, ${inDays(daysLeft)}`}
    </p>
  );
}

const FINISHED: readonly TableColumn<AccessReviewRow>[] = [
  ['Finished', ({ finishedAt, startedAt }) => <Time at={finishedAt ?? startedAt} />],
  ['By', ({ finishedBy }) => <bdi>{finishedBy}</bdi>],
  ['Started', ({ startedAt }) => <Time at={startedAt} />],
  ['Keys', ({ keys }) => keys],
  ['Decisions', ({ kept, revoked }) => `${kept} keep, ${revoked} revoke`],
  ['Evidence', ({ id }) => <a href={`${usePage().base}/access-review/${id}/evidence.csv`}>Download as CSV</a>],
];

interface ReviewedKeyProps extends Row {
  form: FormState;
  usage: Usage;
  companies: readonly Company[];
}

function ReviewedKey(props: ReviewedKeyProps) {
  const { key, decision, successors, works } = props.reviewed;
  return (
    <li>
      <div>
        <KeyName subject={key} /> <Scopes scopes={key.scopes} />
        {successors.map((successor) => (
          <span class="minor">
            {' '}
            Replaced by <OtherKey link={successor} />, to which the decision applies too
          </span>
        ))}
        {key.successor && successors.length === 0 && <span class="minor"> Replaced</span>}
        <p class="minor">
          {factsOf(key, props)
            .filter(([, content]) => content)
            .map(([name, content], index) => (
              <>
                {index > 0 && ' · '}
                {name}: {content}
              </>
            ))}
        </p>
        {props.checks.length > 0 && (
          <p class="checks">
            <Icon name="alert" />
            <span>Check: {props.checks.join('; ')}.</span>
          </p>
        )}
      </div>
      <div>
        {works && <DecisionFields {...props} />}
        {decision && (
          <p class="decided minor">
            <Icon name={decision.decision === 'keep' ? 'check' : 'ban'} /> {DECISION_LABELS[decision.decision]}
            {!works && ': '}
            {!works && <bdi>{decision.reason}</bdi>}, by <bdi>{decision.by}</bdi>, <Time at={decision.at} />
          </p>
        )}
        {!works && !decision && (
          <p class="decided minor">{stateLabel(key.state)} before a decision: no decision is needed</p>
        )}
      </div>
    </li>
  );
}

/** Reasons to check a live key before the others. No decision is preselected. */
function checksOf(key: KeyDetails, rules: StoredKeyRules, now: number, timeZone: string): string[] {
  const { createdAt, expiresAt, creatorActive } = key;
  const longest = rules.maxLifetimeDays ?? Number.POSITIVE_INFINITY;
  const isLongLived = expiresAt !== null && lifetimeDays(expiresAt, timeZone, createdAt) > longest;
  return [
    ...(isUnused(key, UNUSED_DAYS, now) ? [`unused for ${UNUSED_DAYS} days`] : []),
    ...(creatorActive ? [] : ['its creator is no longer an administrator']),
    ...(expiresAt === null
      ? [`it never expires${rules.expiryRequired ? ' (no longer allowed for new keys)' : ''}`]
      : []),
    ...(isLongLived ? ['it lives longer than the key rules allow a new key'] : []),
  ];
}

/** Whom to ask about a key, its limits, and how it is used. */
function factsOf(key: KeyDetails, { usage, companies }: Pick<ReviewedKeyProps, 'usage' | 'companies'>): NamedFact[] {
  const { owner, description, allowedNetworks, dayLimitRecords: records, dayLimitMinutes: minutes } = key;
  const ids = companyIds(key.companies);
  const own = companies.filter(({ id }) => ids.includes(id));
  return [
    ['Owner', <bdi>{owner || 'none'}</bdi>],
    ['Description', description && <bdi>{description}</bdi>],
    ['Companies', own.length === 0 ? 'all' : <CompanyNames companies={own} />],
    ['Networks', allowedNetworks.replaceAll(' ', ', ') || 'all'],
    ['Daily limits', limitWords({ records, minutes }).join(', ')],
    ['Last write', key.lastWrite ? <Ago at={key.lastWrite.at} /> : 'never'],
    ['Writes in 30 days', formatNumber(recordsOf(usage))],
    ['Expires', <Expiry subject={key} />],
    ['Created', <Creator subject={key} />],
  ];
}

function DecisionFields({ reviewed: { key, decision: made }, form }: Pick<ReviewedKeyProps, 'reviewed' | 'form'>) {
  const { id, name, hint } = key;
  const [decision, shown] = [`decision-${id}`, `shown-${id}`];
  return (
    <fieldset class="decision">
      <legend class="visually-hidden">
        Decision on {name} {hint}
      </legend>
      <input type="hidden" name={shown} value={form.values.get(shown) ?? ''} />
      <div class="row">
        {REVIEW_DECISIONS.map((one) => (
          <label class={`choice ${one} ${one === made?.decision ? 'saved' : ''}`}>
            <input type="radio" name={decision} value={one} checked={form.values.get(decision) === one} />{' '}
            {DECISION_LABELS[one]}
          </label>
        ))}
      </div>
      <Field name={`reason-${id}`} form={form} control="line" label="Reason" max={MAX_REASON_LENGTH} />
    </fieldset>
  );
}
