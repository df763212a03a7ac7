import { MAX_REASON_LENGTH, REVIEW_DECISIONS, type ReviewDecision } from '../../../domain/key-review.ts';
import type { StoredKeyRules } from '../../../services/keys/change-key-rules.ts';
import { recordsOf, type Usage } from '../../../services/keys/key-usage.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import type { Decision, ReviewedKey } from '../../../services/keys/read-reviews.ts';
import { type ReviewCheck, reviewChecks } from '../../../services/keys/review-checks.ts';
import { Icon } from '../../page/icon.tsx';
import type { PageContext } from '../page-context.ts';
import type { EnteredDecision } from '../review-form.ts';
import { counted, describedBy, FieldMessage, Hint, Scopes, stateLabel } from './components.tsx';
import { Creator, LastWrite } from './key-facts.tsx';
import { Ago, Expiry, ShortExpiry, Time } from './time.tsx';

interface RowProps {
  of: ReviewedKey;
  reviewId: string;
  entered: EnteredDecision | undefined;
  message: string | undefined;
  usage: Usage;
  rules: StoredKeyRules;
  context: PageContext;
}

const LABELS: Record<ReviewDecision, string> = { keep: 'Keep', revoke: 'Revoke' };

/** A key of a review: what it is, and the decision or the fields for it. */
export function ReviewRow({ of, reviewId, entered, message, usage, rules, context }: RowProps) {
  const { key, decision, status } = of;
  return (
    <li>
      <div>
        <a class="name" href={`${context.base}/keys/${key.id}`}>
          <bdi>{key.name}</bdi>
        </a>{' '}
        <Hint hint={key.hint} /> <Scopes scopes={key.scopes} />
        {key.successor && <span class="minor"> Replaced</span>}
        <p class="minor">
          {key.lastWrite ? (
            <>
              Wrote <Ago at={key.lastWrite.at} context={context} />
            </>
          ) : (
            'Never wrote'
          )}{' '}
          · {counted(recordsOf(usage), 'write')} in 30 days · {key.expiresAt === null ? '' : 'Expires '}
          <Expires of={key} context={context} /> · <Creator of={key} />
        </p>
        {status === 'undecided' && <Checks of={key} rules={rules} context={context} />}
      </div>
      {status === 'undecided' ? (
        <DecisionFields of={key} entered={entered} message={message} />
      ) : (
        <div class="decided">
          {decision ? (
            <Decided of={decision} context={context} />
          ) : (
            `${stateLabel(key.state)} before a decision, which is no longer needed`
          )}
          {decision && (
            <>
              {' '}
              <a href={`${context.base}/review/${reviewId}/keys/${key.id}`}>
                Change
                <span class="visually-hidden">
                  {' '}
                  the decision on {key.name} {key.hint}
                </span>
              </a>
            </>
          )}
        </div>
      )}
    </li>
  );
}

function Expires({ of, context }: { of: KeyDetails; context: PageContext }) {
  if (of.expiresAt === null) return <>Never expires</>;
  return <Expiry of={{ expiresAt: of.expiresAt }} context={context} />;
}

const CHECKS: Record<ReviewCheck, (rules: StoredKeyRules) => string> = {
  unused: ({ unusedDays }) => `unused for ${counted(unusedDays, 'day')}`,
  former_creator: () => 'its creator is no longer an administrator',
  never_expires: () => 'it never expires, which the key rules allow no new key',
  long_lifetime: () => 'it lives longer than the key rules allow a new key',
};

/** What speaks for a closer look. No decision is preselected. */
function Checks({ of, rules, context }: { of: KeyDetails; rules: StoredKeyRules; context: PageContext }) {
  const checks = reviewChecks(of, rules, context.timeZone, context.now);
  if (checks.length === 0) return null;
  return (
    <p class="checks">
      <Icon name="alert" />
      <span>Check: {checks.map((check) => CHECKS[check](rules)).join('; ')}.</span>
    </p>
  );
}

function Decided({ of: { decision, reason, by, at }, context }: { of: Decision; context: PageContext }) {
  return (
    <>
      <strong class="state">
        <Icon name={decision === 'keep' ? 'check' : 'ban'} />
        {LABELS[decision]}
      </strong>
      : <bdi>{reason}</bdi>{' '}
      <span class="minor">
        by <bdi>{by}</bdi>, <Time at={at} context={context} />
      </span>
    </>
  );
}

interface FieldsProps {
  of: KeyDetails;
  entered: EnteredDecision | undefined;
  message: string | undefined;
}

/** The choice between keep and revoke, and the reason for it. */
function DecisionFields({ of: { id, name, hint }, entered, message }: FieldsProps) {
  const reasonId = `reason-${id}`;
  return (
    <div class="decision">
      <fieldset>
        <legend class="visually-hidden">
          Decision on {name} {hint}
        </legend>
        {REVIEW_DECISIONS.map((decision) => (
          <label class={`choice ${decision}`}>
            <input type="radio" name={`decision-${id}`} value={decision} checked={entered?.decision === decision} />{' '}
            {LABELS[decision]}
          </label>
        ))}
      </fieldset>
      <div class="field">
        <label for={reasonId}>
          Reason
          <span class="visually-hidden">
            {' '}
            for {name} {hint}
          </span>
        </label>
        <input
          id={reasonId}
          name={reasonId}
          type="text"
          value={entered?.reason}
          maxlength={MAX_REASON_LENGTH}
          autocomplete="off"
          {...describedBy(reasonId, message)}
        />
        <FieldMessage id={reasonId} message={message} />
      </div>
    </div>
  );
}

interface ChangeProps {
  reviewId: string;
  reviewed: ReviewedKey;
  entered: EnteredDecision;
  /** The time of the decision that the form shows; 0 for none. */
  shownAt: number;
  message: string | undefined;
  context: PageContext;
}

/** The form that replaces the decision on one key. */
export function ChangeDecisionPage({ reviewId, reviewed, entered, shownAt, message, context }: ChangeProps) {
  const { key, decision } = reviewed;
  return (
    <>
      {decision && (
        <p>
          Decided: <Decided of={decision} context={context} />
        </p>
      )}
      <p>
        <Hint hint={key.hint} /> <Scopes scopes={key.scopes} /> Last write: <LastWrite of={key} context={context} />.
        Expires: <ShortExpiry of={key} context={context} />.
      </p>
      <form method="post" action={`${context.base}/review/${reviewId}/keys/${key.id}`} class="form">
        <input type="hidden" name="shown_at" value={shownAt} />
        <DecisionFields of={key} entered={entered} message={message} />
        <p class="minor">The audit log keeps both decisions.</p>
        <div class="actions">
          <button type="submit">Save decision</button>
          <a href={`${context.base}/review`}>Cancel</a>
        </div>
      </form>
    </>
  );
}
