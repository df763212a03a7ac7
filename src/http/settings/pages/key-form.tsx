import { type DefaultLimits, KEY_FORM_FIELDS } from '../../../domain/key-settings.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS } from '../../../domain/record-kinds.ts';
import type { SettingsChange } from '../../../services/keys/change-key.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import type { RecentAddresses } from '../../../services/keys/recent-addresses.ts';
import { usePage } from '../page-context.ts';
import { Banner, describedBy, FieldMessage } from './components.tsx';
import { Conflict } from './conflict.tsx';
import { ExpirationField, type FormProps, type Messages, SettingFields } from './key-fields.tsx';

/** The settings in the fold of the form for a new key, and those before it. */
const advanced = KEY_FORM_FIELDS.filter(({ required }) => !required);
const basic = KEY_FORM_FIELDS.filter(({ required }) => required);

/** The form for a new key. */
export function NewKeyForm({
  token,
  values,
  messages,
  today,
  rules,
  defaults,
}: FormProps & { defaults: DefaultLimits }) {
  const { base } = usePage();
  const limits = { defaults };
  const isOpen = advanced.some(({ name }) => values[name] || messages[name]);
  return (
    <form method="post" action={`${base}/keys`} class="form" data-once>
      <input type="hidden" name="token" value={token} />
      <Summary messages={messages} />
      <SettingFields of={basic} {...{ values, messages }} limits={limits} />
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
      <ExpirationField {...{ values, today, rules }} message={messages.expiration} />
      <details class="advanced" open={isOpen}>
        <summary>Advanced: owner, limits and networks</summary>
        <SettingFields of={advanced} {...{ values, messages }} limits={limits} />
      </details>
      <div class="actions">
        <button type="submit">Create key</button>
        <a href={`${base}/keys`}>Cancel</a>
      </div>
    </form>
  );
}

/** The form to rotate a key. */
export function RotateForm({ token, values, messages, today, rules, keyId }: FormProps & { keyId: string }) {
  const { base } = usePage();
  const graces = [
    ['1h', 'For 1 hour'],
    ['24h', 'For 24 hours'],
    ['7d', 'For 7 days'],
    ['now', 'No grace period: revoke it now'],
  ] as const;
  return (
    <form method="post" action={`${base}/keys/${keyId}/rotate`} class="form" data-once>
      <input type="hidden" name="token" value={token} />
      <Summary messages={messages} />
      <ExpirationField {...{ values, today, rules }} message={messages.expiration} noneLast />
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
        <a href={`${base}/keys/${keyId}`}>Cancel</a>
      </div>
    </form>
  );
}

interface ChangeProps extends Pick<FormProps, 'values' | 'messages'> {
  subject: KeyDetails;
  defaults: DefaultLimits;
  seen: RecentAddresses;
  /** What other administrators did since the form was opened, after which nothing was saved. */
  changes?: readonly SettingsChange[];
}

/** The form to change a key's settings. It sends the revision of the key that it shows. */
export function ChangeForm({ values, messages, subject: key, defaults, seen, changes }: ChangeProps) {
  const { base } = usePage();
  return (
    <form method="post" action={`${base}/keys/${key.id}/change`} class="form">
      <input type="hidden" name="revision" value={key.revision} />
      {changes && <Conflict what="key" changes={changes} />}
      <Summary messages={messages} />
      <SettingFields of={KEY_FORM_FIELDS} {...{ values, messages, seen }} limits={{ defaults, own: key }} />
      <div class="actions">
        <button type="submit">Save</button>
        <a href={`${base}/keys/${key.id}`}>Cancel</a>
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
