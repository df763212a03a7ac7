import { MAX_REASON_LENGTH, REVIEW_DECISIONS, type ReviewDecision } from '../../../domain/access-review.ts';
import { UNUSED_DAYS } from '../../../domain/facts.ts';
import { lifetimeDays } from '../../../domain/key-rules.ts';
import type { AccessReviewKey } from '../../../services/keys/access-review.ts';
import type { StoredKeyRules } from '../../../services/keys/change-key-rules.ts';
import { recordsOf, type Usage } from '../../../services/keys/key-usage.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { isUnused } from '../../../services/keys/select-keys.ts';
import { Icon } from '../../page/icon.tsx';
import { counted, Scopes, stateLabel } from './components.tsx';
import { limitsText } from './day-use.ts';
import { describedBy, FieldMessage } from './form.tsx';
import { Creator, KeyName, OtherKey } from './key-facts.tsx';
import { Ago, Expiry, Time } from './time.tsx';

export interface EnteredDecision {
  decision: ReviewDecision | undefined;
  reason: string;
  shownAt: number | null;
}

export interface AccessReviewForm {
  entered: ReadonlyMap<string, EnteredDecision>;
  /** The reason for the kept keys. */
  common: string;
  /** An error message for each key, and one for the form. */
  messages: ReadonlyMap<string, string>;
  message?: string;
}

interface Props {
  of: AccessReviewKey;
  entered: EnteredDecision | undefined;
  message: string | undefined;
  usage: Usage;
  checks: readonly string[];
}

export const DECISION_LABELS: Record<ReviewDecision, string> = { keep: 'Keep', revoke: 'Revoke' };

export function AccessReviewRow({ of, entered, message, usage, checks }: Props) {
  const { key, decision, status, successors, works } = of;
  const isUndecided = status === 'undecided';
  return (
    <li>
      <div>
        <KeyName of={key} /> <Scopes scopes={key.scopes} />
        {successors.map((successor) => (
          <span class="minor">
            {' '}
            Replaced by <OtherKey link={successor} />, to which the decision applies too
          </span>
        ))}
        {key.successor && successors.length === 0 && <span class="minor"> Replaced</span>}
        <Settings of={key} />
        {isUndecided && (
          <>
            <p class="minor">
              {key.lastWrite ? 'Wrote ' : 'Never wrote'}
              {key.lastWrite && <Ago at={key.lastWrite.at} />} · {counted(recordsOf(usage), 'write')} in 30 days ·{' '}
              {key.expiresAt === null ? 'Never expires' : 'Expires '}
              {key.expiresAt !== null && <Expiry of={key} />} · <Creator of={key} />
            </p>
            {checks.length > 0 && (
              <p class="checks">
                <Icon name="alert" />
                <span>Check: {checks.join('; ')}.</span>
              </p>
            )}
          </>
        )}
      </div>
      {isUndecided && <DecisionFields of={of} entered={entered} message={message} />}
      {!isUndecided && (
        <div class="decided">
          {decision ? (
            <>
              <strong class="state">
                <Icon name={decision.decision === 'keep' ? 'check' : 'ban'} />
                {DECISION_LABELS[decision.decision]}
              </strong>
              : <bdi>{decision.reason}</bdi>{' '}
              <span class="minor">
                by <bdi>{decision.by}</bdi>, <Time at={decision.at} />
              </span>
            </>
          ) : (
            `${stateLabel(key.state)} before a decision: no decision is needed`
          )}
          {decision && works && (
            <details open={entered?.decision !== undefined || message !== undefined}>
              <summary>
                Change <span class="visually-hidden">the decision on {named(key)}</span>
              </summary>
              <p class="minor">The audit log keeps both decisions.</p>
              <DecisionFields of={of} entered={entered} message={message} />
            </details>
          )}
        </div>
      )}
    </li>
  );
}

/** What an administrator should check about a live key before the others. No decision is preselected. */
export function checksOf(key: KeyDetails, rules: StoredKeyRules, now: number, timeZone: string): string[] {
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

/** Whom to ask about a key, and what limits it. */
function Settings({ of: key }: { of: KeyDetails }) {
  const { owner, description, allowedNetworks } = key;
  const limits = limitsText({ records: key.dayLimitRecords, minutes: key.dayLimitMinutes });
  return (
    <p class="minor">
      {owner === '' ? 'No owner' : 'Owner: '}
      <bdi>{owner}</bdi>
      {description !== '' && ' · “'}
      <bdi>{description}</bdi>
      {description !== '' && '”'} ·{' '}
      {allowedNetworks === '' ? 'Works from everywhere' : `Only from ${allowedNetworks.replaceAll(' ', ', ')}`}
      {limits && ` · At most ${limits} per day`}
    </p>
  );
}

const named = ({ name, hint }: KeyDetails) => `${name} ${hint}`;

function DecisionFields({ of: { key, decision }, entered, message }: Pick<Props, 'of' | 'entered' | 'message'>) {
  const { id } = key;
  const reasonId = `reason-${id}`;
  const messages = message === undefined ? {} : { [reasonId]: message };
  const shownAt = entered ? entered.shownAt : decision?.at;
  return (
    <div class="decision">
      {shownAt && <input type="hidden" name={`shown-${id}`} value={shownAt} />}
      <fieldset>
        <legend class="visually-hidden">Decision on {named(key)}</legend>
        {REVIEW_DECISIONS.map((one) => (
          <label class={`choice ${one}`}>
            <input type="radio" name={`decision-${id}`} value={one} checked={entered?.decision === one} />{' '}
            {DECISION_LABELS[one]}
          </label>
        ))}
      </fieldset>
      <div class="field">
        <label for={reasonId}>
          Reason <span class="visually-hidden">for {named(key)}</span>
        </label>
        <input
          id={reasonId}
          name={reasonId}
          type="text"
          value={entered?.reason}
          maxlength={MAX_REASON_LENGTH}
          autocomplete="off"
          {...describedBy(reasonId, messages)}
        />
        <FieldMessage name={reasonId} messages={messages} />
      </div>
    </div>
  );
}
