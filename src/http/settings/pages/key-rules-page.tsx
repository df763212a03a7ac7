import { MAX_RULE_DAYS } from '../../../domain/key-rules.ts';
import type { SettingsChange } from '../../../services/keys/change-key.ts';
import type { KeyRulesOverview } from '../../../services/keys/change-key-rules.ts';
import { keyListPath } from '../key-query.ts';
import { usePage } from '../page-context.ts';
import { Banner, counted } from './components.tsx';
import { Conflict } from './conflict.tsx';
import { describedBy, ErrorSummary, FieldMessage, NumberField } from './input-field.tsx';

/** The values of the form as they were entered. Empty texts for no rule. */
export interface KeyRulesValues {
  maxLifetime: string;
  expiryRequired: boolean;
  review: string;
}

export type KeyRulesMessages = Partial<Record<'maxLifetime' | 'review', string>>;

interface Props extends KeyRulesOverview {
  values: KeyRulesValues;
  messages: KeyRulesMessages;
  done: string | undefined;
  /** What other administrators changed since the form was opened, after which nothing was saved. */
  conflict?: readonly SettingsChange[];
}

const FIELDS: readonly { name: keyof KeyRulesMessages; id: string; label: string }[] = [
  { name: 'maxLifetime', id: 'max_lifetime', label: 'Longest lifetime' },
  { name: 'review', id: 'review', label: 'Reviews' },
];

export function KeyRulesLead() {
  return (
    <p class="minor">Rules for every key that is created or rotated. Existing keys keep the expiration they have.</p>
  );
}

export function KeyRulesPage({ rules, values, messages, endlessKeys, done, conflict }: Props) {
  const { base, userId } = usePage();
  const wrong = FIELDS.filter(({ name }) => messages[name] !== undefined);
  return (
    <>
      {done && <Banner>{done}</Banner>}
      {conflict && <Conflict what="organization’s key rules" changes={conflict} />}
      <ErrorSummary nothing="Nothing was saved." fields={wrong} />
      <form
        method="post"
        action={`${base}/key-rules`}
        class="form card"
        data-draft={userId}
        data-entered={wrong.length > 0 || conflict !== undefined || undefined}
      >
        <input type="hidden" name="shown_revision" value={rules.revision} />
        <NumberField
          max={MAX_RULE_DAYS}
          id="max_lifetime"
          label="Longest lifetime of new keys, in days (optional)"
          value={values.maxLifetime}
          message={messages.maxLifetime}
          help="A new key works until the end of the last of these days, at most. Leave this empty for any lifetime."
        />
        <div class="field">
          <label class="choice">
            <input type="checkbox" name="expiry_required" checked={values.expiryRequired} /> New keys must expire
          </label>
          <p class="help">
            Setting a maximum lifetime also turns this on.{' '}
            {endlessKeys > 0 && (
              <>
                {counted(endlessKeys, 'existing key')} never {endlessKeys === 1 ? 'expires' : 'expire'}, which does not
                change.{' '}
                <a href={keyListPath(base, { state: 'live', expires: 'never' })}>
                  {endlessKeys === 1 ? 'Show it' : 'Show them'}
                </a>
              </>
            )}
          </p>
        </div>
        <ReviewField value={values.review} message={messages.review} />
        <div class="actions">
          <button type="submit">Save key rules</button>
          <a href={`${base}/audit?action=key_policy.changed`}>History</a>
        </div>
      </form>
    </>
  );
}

/** How often keys can be reviewed: the months between two reviews, empty for never. */
export const REVIEW_INTERVALS = [
  ['', 'Never'],
  ['1', 'Every month'],
  ['3', 'Every 3 months'],
  ['6', 'Every 6 months'],
  ['12', 'Every year'],
] as const;

function ReviewField({ value, message }: { value: string; message: string | undefined }) {
  const { base } = usePage();
  return (
    <div class="field">
      <label for="review">Keys are reviewed</label>
      <select id="review" name="review" {...describedBy('review', message, true)}>
        {REVIEW_INTERVALS.map(([months, label]) => (
          <option value={months} selected={months === value}>
            {label}
          </option>
        ))}
      </select>
      <p class="help" id="review-help">
        An administrator decides for each key whether it is still needed.{' '}
        <a href={`${base}/access-review`}>Access review</a>
      </p>
      <FieldMessage id="review" message={message} />
    </div>
  );
}
