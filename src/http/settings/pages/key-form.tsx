import { RECORD_KIND_NAMES, RECORD_KINDS } from '../../../domain/record-kinds.ts';
import { formatRequestLimit } from '../../../domain/request-limit.ts';
import type { ChangeableKey } from '../../../services/keys/change-key.ts';
import type { RecentAddresses } from '../../../services/keys/recent-addresses.ts';
import { Banner, describedBy, FieldMessage } from './components.tsx';
import {
  DayLimitFields,
  type DefaultLimits,
  ExpirationField,
  type FormProps,
  hasAdvanced,
  LimitField,
  type Messages,
  NameField,
  NetworksField,
  PurposeFields,
} from './key-fields.tsx';

/** The form for a new key. */
export function NewKeyForm({
  context,
  token,
  values,
  messages,
  today,
  rules,
  defaultLimit,
  defaultDayLimit,
}: FormProps & DefaultLimits) {
  return (
    <form method="post" action={`${context.base}/keys`} class="form" data-once>
      <input type="hidden" name="token" value={token} />
      <Summary messages={messages} />
      <NameField value={values.name} message={messages.name} />
      <fieldset {...describedBy('scopes', messages.scopes)}>
        <legend>What the key can write</legend>
        {RECORD_KIND_NAMES.toReversed().map((kind) => {
          const { scope, scopeLabel, scopeHelp, path } = RECORD_KINDS[kind];
          return (
            <div class="tile">
              <label class="choice">
                <input
                  type="checkbox"
                  name="scope"
                  value={scope}
                  checked={values.scopes?.includes(scope) ?? false}
                  aria-describedby={`${path}-help`}
                />{' '}
                {scopeLabel}
              </label>
              <p class="help" id={`${path}-help`}>
                {scopeHelp}
              </p>
            </div>
          );
        })}
        <FieldMessage id="scopes" message={messages.scopes} />
      </fieldset>
      <ExpirationField {...{ values, today, rules, context }} message={messages.expiration} />
      <details class="advanced" open={hasAdvanced(values, messages)}>
        <summary>Advanced: owner, limits and networks</summary>
        <PurposeFields values={values} messages={messages} />
        <LimitField value={values.limit} message={messages.limit} defaultLimit={defaultLimit} />
        <DayLimitFields values={values} messages={messages} defaultDayLimit={defaultDayLimit} />
        <NetworksField value={values.networks} message={messages.networks} />
      </details>
      <div class="actions">
        <button type="submit">Create key</button>
        <a href={`${context.base}/keys`}>Cancel</a>
      </div>
    </form>
  );
}

/** The form to rotate a key. */
export function RotateForm({ context, token, values, messages, today, rules, keyId }: FormProps & { keyId: string }) {
  const graces = [
    ['1h', 'For 1 hour'],
    ['24h', 'For 24 hours'],
    ['7d', 'For 7 days'],
    ['now', 'No grace period: revoke it now'],
  ] as const;
  return (
    <form method="post" action={`${context.base}/keys/${keyId}/rotate`} class="form" data-once>
      <input type="hidden" name="token" value={token} />
      <Summary messages={messages} />
      <ExpirationField {...{ values, today, rules, context }} message={messages.expiration} noneLast />
      <fieldset {...describedBy('grace', messages.grace)}>
        <legend>Grace period: how long the old key keeps working</legend>
        {graces.map(([grace, label]) => (
          <label class="choice">
            <input type="radio" name="grace" value={grace} checked={values.grace === grace} required /> {label}
          </label>
        ))}
        <FieldMessage id="grace" message={messages.grace} />
      </fieldset>
      <div class="actions">
        <button type="submit">Rotate</button>
        <a href={`${context.base}/keys/${keyId}`}>Cancel</a>
      </div>
    </form>
  );
}

/**
 * The form to change a key's name and limits. `shown` has the current values, which are submitted to
 * detect conflicts.
 */
export function ChangeForm({
  context,
  values,
  messages,
  shown: { id: keyId, name, limit, dayLimit, allowedNetworks, description, owner },
  seen,
  defaultLimit,
  defaultDayLimit,
}: Omit<FormProps, 'token' | 'today' | 'rules'> & DefaultLimits & { shown: ChangeableKey; seen: RecentAddresses }) {
  return (
    <form method="post" action={`${context.base}/keys/${keyId}/change`} class="form">
      <input type="hidden" name="shown_name" value={name} />
      <input type="hidden" name="shown_limit" value={limit ? formatRequestLimit(limit) : ''} />
      <input type="hidden" name="shown_day_records" value={dayLimit.records ?? ''} />
      <input type="hidden" name="shown_day_minutes" value={dayLimit.minutes ?? ''} />
      <input type="hidden" name="shown_networks" value={allowedNetworks} />
      <input type="hidden" name="shown_description" value={description} />
      <input type="hidden" name="shown_owner" value={owner} />
      <Summary messages={messages} />
      <NameField value={values.name} message={messages.name} />
      <PurposeFields values={values} messages={messages} />
      <LimitField value={values.limit} message={messages.limit} defaultLimit={defaultLimit} own={limit} />
      <DayLimitFields values={values} messages={messages} defaultDayLimit={defaultDayLimit} own={dayLimit} />
      <NetworksField value={values.networks} message={messages.networks} seen={seen} />
      <div class="actions">
        <button type="submit">Save</button>
        <a href={`${context.base}/keys/${keyId}`}>Cancel</a>
      </div>
    </form>
  );
}

function Summary({ messages: { form, ...fields } }: { messages: Messages }) {
  if (form) return <Banner tone="warning">{form}</Banner>;
  return Object.keys(fields).length > 0 ? (
    <Banner tone="warning">Nothing was saved. Correct the fields marked below.</Banner>
  ) : null;
}
