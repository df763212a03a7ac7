import type { Child, PropsWithChildren } from 'hono/jsx';
import { hostNetwork } from '../../../domain/allowed-networks.ts';
import { addDays, yearsLater } from '../../../domain/calendar.ts';
import { MAX_EXPIRY_YEARS } from '../../../domain/key-input.ts';
import { type KeyRules, lastDayAllowed } from '../../../domain/key-rules.ts';
import { KEY_FORM_FIELDS, type KeySettingName, type SettingContext } from '../../../domain/key-settings.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS } from '../../../domain/record-kinds.ts';
import type { SettingsChange } from '../../../services/keys/change-key.ts';
import { type RecentUse, type ShutOut, USAGE_DAYS } from '../../../services/keys/key-usage.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { Icon } from '../../page/icon.tsx';
import { usePage } from '../page-context.ts';
import { Address, Banner, counted, Hint, SCOPE_ICONS } from './components.tsx';
import { Conflict } from './conflict.tsx';
import { describedBy, ErrorSummary, FieldMessage, LinesField, NumberField, TextField } from './input-field.tsx';
import { Ago, dateText } from './time.tsx';

/** Error messages by field. `form` is for errors that do not belong to one field. */
export type Messages = Partial<Record<KeySettingName | 'scopes' | 'expiration' | 'grace' | 'form', string>>;

/** The values of a form as the administrator entered them, to show again with error messages. */
export interface FormValues extends Partial<Record<KeySettingName, string | undefined>> {
  scopes?: readonly string[];
  expiration?: string | undefined;
  date?: string | undefined;
  grace?: string | undefined;
}

interface FormProps {
  token: string;
  values: FormValues;
  messages: Messages;
  /** Whether the values are those that the administrator sent. */
  isEntered: boolean;
  today: string;
  rules: KeyRules;
}

/** The fields with an error, in their order in the forms. */
const wrongFields = (messages: Messages) =>
  [
    ...BASIC.map(({ name, field: id, label }) => ({ name, id, label })),
    { name: 'scopes' as const, id: 'scopes', label: 'What the key can write' },
    { name: 'grace' as const, id: 'grace', label: 'Grace period' },
    { name: 'expiration' as const, id: 'expiration', label: 'Expiration' },
    ...ADVANCED.map(({ name, field: id, label }) => ({ name, id, label })),
  ].filter(({ name }) => messages[name] !== undefined);

type SettingFormField = (typeof KEY_FORM_FIELDS)[number];
const isBasic = ({ name }: SettingFormField) => name === 'name' || name === 'owner';
/** The settings before the fold of the form for a new key, and those in it. */
const BASIC = KEY_FORM_FIELDS.filter(isBasic);
const ADVANCED = KEY_FORM_FIELDS.filter((field) => !isBasic(field));

interface FrameProps extends Pick<FormProps, 'messages' | 'isEntered'> {
  action: string;
  /** The effect of an error. */
  nothing: string;
  /** The hidden fields. A token makes the form usable once. */
  hidden: Record<string, string | number>;
  submit: string;
  /** What sending it again with the button confirms. */
  confirms?: boolean;
  cancel: string;
  notice?: Child;
  aside?: Child;
}

/** A form in a card. With script, the entered values are kept until the form is accepted. */
function KeyForm(props: PropsWithChildren<FrameProps>) {
  const { action, messages, isEntered, nothing, hidden, submit, confirms, cancel, notice, aside, children } = props;
  const { userId } = usePage();
  const isOnce = 'token' in hidden;
  return (
    <>
      <ErrorSummary nothing={nothing} form={messages.form} fields={wrongFields(messages)} />
      {notice}
      <div class="form-page">
        <form
          method="post"
          action={action}
          id="form"
          class="form card"
          data-once={isOnce || undefined}
          data-draft={userId}
          data-entered={isEntered || undefined}
        >
          {Object.entries(hidden).map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          {children}
          <div class="actions">
            <button type="submit" {...(confirms && { name: 'confirmed', value: 'yes' })}>
              {submit}
            </button>
            <a href={cancel} class="button quiet">
              Cancel
            </a>
          </div>
        </form>
        {aside}
      </div>
    </>
  );
}

interface SettingProps extends Pick<FormProps, 'values' | 'messages'> {
  limits: SettingContext;
  /** The administrators, who may be owners. */
  owners: readonly string[];
  seen?: RecentUse;
}

/** The fields of settings, in the order of their table. */
const SettingFields = ({ of: fields, ...props }: SettingProps & { of: readonly SettingFormField[] }) =>
  fields.map(({ name, field: id, control, required, placeholder, label, max, help }) => {
    const Field = { line: TextField, number: NumberField, lines: LinesField }[control];
    const { values, messages, limits, owners, seen } = props;
    return (
      <Field
        {...{ id, required, placeholder, value: values[name], message: messages[name], max: max(limits) }}
        label={`${label}${required ? '' : ' (optional)'}`}
        suggestions={name === 'owner' ? owners : undefined}
        help={
          <>
            {help(limits.defaults)}
            {name === 'allowedNetworks' && <Seen {...seen} />}
          </>
        }
      />
    );
  });

/** How many addresses the form offers. */
const MAX_SEEN = 10;

/** The addresses to allow: where this browser is, and where the key was used. With script, a click adds one. */
function Seen({ wrote = [], refused = [] }: Partial<RecentUse>) {
  const { address } = usePage();
  return (
    <>
      <SeenAddresses text="You are at" of={address === null ? [] : [address]} />
      <SeenAddresses
        text={`Wrote in the last ${USAGE_DAYS} days from`}
        of={wrote.slice(0, MAX_SEEN).map((one) => one.address)}
      />
      <SeenAddresses text="Refused from" of={refused} />
    </>
  );
}

function SeenAddresses({ text, of: addresses }: { text: string; of: readonly string[] }) {
  return addresses.length === 0 ? null : (
    <p class="seen">
      {text}
      {addresses.map((address) => (
        <button type="button" class="quiet" data-add="networks" value={address} disabled>
          <Address address={address} />
        </button>
      ))}
    </p>
  );
}

export function NewKeyForm(props: FormProps & Pick<SettingProps, 'limits' | 'owners'>) {
  const { base } = usePage();
  const { token, values, messages } = props;
  return (
    <KeyForm
      {...props}
      action={`${base}/keys`}
      nothing="Nothing was created."
      hidden={{ token }}
      submit="Create key"
      cancel={`${base}/keys`}
      aside={<BeforeYouCreate />}
    >
      <SettingFields of={BASIC} {...props} />
      <fieldset {...describedBy('scopes', messages.scopes)}>
        <legend>What the key can write</legend>
        <div class="tiles-2">
          {RECORD_KIND_NAMES.map((kind, index) => {
            const { scope, scopeLabel, scopeHelp, path } = RECORD_KINDS[kind];
            return (
              <label class="tile">
                <input
                  type="checkbox"
                  name="scope"
                  id={index === 0 ? 'scopes' : undefined}
                  value={scope}
                  checked={values.scopes?.includes(scope) ?? false}
                  aria-labelledby={`${path}-label`}
                  aria-describedby={`${path}-help`}
                />
                <span id={`${path}-label`}>
                  <Icon name={SCOPE_ICONS[kind]} kind={kind} /> <strong>{scopeLabel}</strong>
                </span>
                <span class="help" id={`${path}-help`}>
                  {scopeHelp}
                </span>
              </label>
            );
          })}
        </div>
        <FieldMessage id="scopes" message={messages.scopes} />
      </fieldset>
      <ExpirationField {...props} />
      <details class="advanced" open={ADVANCED.some(({ name }) => values[name] || messages[name])}>
        <summary>Advanced: description, daily limits and networks</summary>
        <SettingFields of={ADVANCED} {...props} />
      </details>
    </KeyForm>
  );
}

function BeforeYouCreate() {
  const { base } = usePage();
  return (
    <aside class="card" aria-labelledby="before">
      <h2 id="before">Before you create it</h2>
      <dl class="notes">
        <dt>One key for each workflow</dt>
        <dd>Then you see what each workflow does, and can stop one without the others.</dd>
        <dt>The value is shown once</dt>
        <dd>Open the place where it goes first: the credentials of n8n, Make, Zapier or Power Automate.</dd>
        <dt>Not sure that it is needed?</dt>
        <dd>
          <a href={`${base}/keys`}>Search the keys in use</a> first.
        </dd>
      </dl>
    </aside>
  );
}

const GRACES = [
  ['1h', 'For 1 hour'],
  ['24h', 'For 24 hours'],
  ['7d', 'For 7 days'],
  ['now', 'No grace period: revoke it now'],
] as const;

export function RotateForm(props: FormProps & { subject: KeyDetails }) {
  const { base } = usePage();
  const { token, values, messages, subject: key } = props;
  return (
    <KeyForm
      {...props}
      action={`${base}/keys/${key.id}/rotate`}
      nothing="Nothing was rotated."
      hidden={{ token }}
      submit="Rotate"
      cancel={`${base}/keys/${key.id}`}
    >
      <p>
        The new key has the same name, scopes, owner, limits and networks as <Hint hint={key.hint} />. Choose how long
        both work, and enter the new key in the automation in that time.
      </p>
      <fieldset {...describedBy('grace', messages.grace)}>
        <legend>Grace period: how long the old key keeps working</legend>
        {GRACES.map(([grace, label], index) => (
          <label class="choice">
            <input
              type="radio"
              name="grace"
              id={index === 0 ? 'grace' : undefined}
              value={grace}
              checked={values.grace === grace}
              required
            />{' '}
            {label}
          </label>
        ))}
        <FieldMessage id="grace" message={messages.grace} />
      </fieldset>
      <ExpirationField {...props} />
    </KeyForm>
  );
}

interface ChangeProps extends SettingProps, Pick<FormProps, 'isEntered'> {
  subject: KeyDetails;
  /** What other administrators did since the form was opened, after which nothing was saved. */
  changes?: readonly SettingsChange[];
  /** What the key did lately and could no longer do: nothing was saved, and saving again confirms it. */
  shuts?: ShutOut;
}

/** The form to change a key's settings. It sends the revision of the key that it shows. */
export function ChangeForm({ subject: key, changes, shuts, ...props }: ChangeProps) {
  const { base } = usePage();
  const path = `${base}/keys/${key.id}`;
  return (
    <KeyForm
      {...props}
      action={`${path}/change`}
      nothing="Nothing was saved."
      hidden={{ revision: key.revision }}
      submit={shuts ? 'Save anyway' : 'Save'}
      confirms={shuts !== undefined}
      cancel={path}
      notice={changes ? <Conflict what="key" changes={changes} /> : shuts && <ShutsOut {...shuts} />}
    >
      <SettingFields of={[...BASIC, ...ADVANCED]} {...props} />
    </KeyForm>
  );
}

/** Asks before a change that would refuse what the key did lately, with a button that admits it. */
function ShutsOut({ addresses, records, minutes }: ShutOut) {
  const [first, ...others] = addresses;
  const limits = [
    ...(records === undefined ? [] : [counted(records, 'new record')]),
    ...(minutes === undefined ? [] : [counted(minutes, 'minute')]),
  ];
  const remedies = [
    ...(first ? [others.length > 0 ? `these ${addresses.length} addresses` : hostNetwork(first.address)] : []),
    ...limits.map((limit) => `${limit} a day`),
  ];
  return (
    <Banner tone="warning">
      <strong>Not saved yet.</strong> The key would be refused for what it did in the last {USAGE_DAYS} days:
      <ul>
        {addresses.map(({ address, writes, lastAt }) => (
          <li>
            <Address address={address} /> wrote <Ago at={lastAt} />: about {counted(writes, 'write')}.
          </li>
        ))}
        {limits.map((limit) => (
          <li>It wrote up to {limit} a day.</li>
        ))}
      </ul>
      <button type="submit" form="form" name="widened" value="yes" autofocus>
        Allow {remedies.join(' and ')} too
      </button>
    </Banner>
  );
}

const LIFETIMES = ['30', '90', '365'];
const DEFAULT_LIFETIME_DAYS = 90;

/** The expiration that a form for a new key preselects: 90 days, or fewer if the key rules allow only that. */
export function defaultExpiration({ maxLifetimeDays }: KeyRules, today: string): FormValues {
  const days = Math.min(DEFAULT_LIFETIME_DAYS, maxLifetimeDays ?? DEFAULT_LIFETIME_DAYS);
  return LIFETIMES.includes(String(days))
    ? { expiration: String(days) }
    : { expiration: 'date', date: addDays(today, days) };
}

/** The choices of a lifetime, each with its last day, and a date. */
function ExpirationField({
  values: { expiration, date },
  messages: { expiration: message },
  today,
  rules,
}: Pick<FormProps, 'values' | 'messages' | 'today' | 'rules'>) {
  const { base } = usePage();
  const { maxLifetimeDays, expiryRequired } = rules;
  const days = LIFETIMES.filter((one) => maxLifetimeDays === null || Number(one) <= maxLifetimeDays);
  const choices: { value: string; text: string; until?: string; isOff?: boolean }[] = [
    ...days.map((one) => ({ value: one, text: `${one} days`, until: dateText(addDays(today, Number(one))) })),
    { value: 'date', text: 'On a date' },
    { value: 'none', text: 'Never', isOff: expiryRequired },
  ];
  return (
    <fieldset {...describedBy('expiration', message, true)}>
      <legend>Expiration</legend>
      <div class="pills">
        {choices.map(({ value, text, until, isOff }, index) => (
          <label class="choice">
            <input
              type="radio"
              name="expiration"
              id={index === 0 ? 'expiration' : undefined}
              required
              disabled={isOff}
              {...{ value, checked: value === expiration && !isOff }}
            />{' '}
            {text}
            {until && <span class="minor">{until}</span>}
          </label>
        ))}
      </div>
      <label class="inline" data-date>
        Date{' '}
        <input
          type="date"
          name="date"
          value={date}
          min={today}
          max={lastDayAllowed(rules, today) ?? yearsLater(today, MAX_EXPIRY_YEARS)}
        />
      </label>
      <FieldMessage id="expiration" message={message} />
      <p class="help" id="expiration-help">
        The key works until the end of its last day.
        {expiryRequired && (
          <>
            {' '}
            “Never” is off: the <a href={`${base}/key-rules`}>key rules of your organization</a>{' '}
            {maxLifetimeDays === null ? 'require an expiration.' : `allow at most ${counted(maxLifetimeDays, 'day')}.`}
          </>
        )}
      </p>
    </fieldset>
  );
}
