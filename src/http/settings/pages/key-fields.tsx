import { yearsLater } from '../../../domain/calendar.ts';
import { MAX_EXPIRY_YEARS } from '../../../domain/key-input.ts';
import { type KeyRules, lastDayAllowed } from '../../../domain/key-rules.ts';
import type { KEY_FORM_FIELDS, KeySettingName, SettingContext } from '../../../domain/key-settings.ts';
import { USAGE_DAYS } from '../../../services/keys/key-usage.ts';
import type { RecentAddresses } from '../../../services/keys/recent-addresses.ts';
import { usePage } from '../page-context.ts';
import { Address, counted, describedBy, FieldMessage } from './components.tsx';
import { NumberField, TextField } from './input-field.tsx';

/** Error messages by field. `form` is for errors that do not belong to one field. */
export type Messages = Partial<Record<KeySettingName | 'scopes' | 'expiration' | 'grace' | 'form', string>>;

/** The values of a form as the administrator entered them, to show again with error messages. */
export interface FormValues extends Partial<Record<KeySettingName, string | undefined>> {
  scopes?: readonly string[];
  expiration?: string | undefined;
  date?: string | undefined;
  grace?: string | undefined;
}

export interface FormProps {
  token: string;
  values: FormValues;
  messages: Messages;
  today: string;
  rules: KeyRules;
}

type SettingFormField = (typeof KEY_FORM_FIELDS)[number];

interface SettingProps extends Pick<FormProps, 'values' | 'messages'> {
  limits: SettingContext;
  /** Where the key was used lately. */
  seen?: RecentAddresses;
}

/** The fields of settings, in the order of their table. */
export const SettingFields = ({ of: fields, ...props }: SettingProps & { of: readonly SettingFormField[] }) =>
  fields.map((setting) => <SettingField setting={setting} {...props} />);

function SettingField({ setting, values, messages, limits, seen }: SettingProps & { setting: SettingFormField }) {
  const { name, field: id, control, required, placeholder } = setting;
  const [value, message] = [values[name], messages[name]];
  const label = `${setting.label(limits)}${required ? '' : ' (optional)'}`;
  const [max, help] = [setting.max(limits), setting.help(limits)];
  const Field = control === 'number' ? NumberField : TextField;
  if (control !== 'lines') return <Field {...{ id, label, value, message, max, help, required, placeholder }} />;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea id={id} name={id} rows={3} spellcheck={false} {...{ placeholder }} {...describedBy(id, message, true)}>
        {value}
      </textarea>
      <p class="help" id={`${id}-help`}>
        {help}
        {name === 'allowedNetworks' && <SeenFrom seen={seen} />}
      </p>
      <FieldMessage id={id} message={message} />
    </div>
  );
}

function SeenFrom({ seen }: { seen: RecentAddresses | undefined }) {
  if (!seen) return null;
  return (
    <>
      {seen.wrote.length > 0 && (
        <>
          {' '}
          Wrote in the last {USAGE_DAYS} days from <Addresses of={seen.wrote} />.
        </>
      )}
      {seen.refused.length > 0 && (
        <>
          {' '}
          Refused from <Addresses of={seen.refused} />.
        </>
      )}
    </>
  );
}

const LIFETIMES = ['30', '60', '90', '365'];

/** The lifetimes in days to choose from that the key rules allow, shortest first. */
export const lifetimesAllowed = ({ maxLifetimeDays }: KeyRules): string[] =>
  LIFETIMES.filter((days) => maxLifetimeDays === null || Number(days) <= maxLifetimeDays);

const EXPIRATIONS: Record<string, string> = {
  none: 'No expiration',
  '30': '30 days',
  '60': '60 days',
  '90': '90 days',
  '365': '1 year',
  date: 'On a date',
};

interface ExpirationProps extends Pick<FormProps, 'values' | 'today' | 'rules'> {
  message: string | undefined;
  /** Offers no expiration as the last choice, not as the first one. */
  noneLast?: boolean;
}

export function ExpirationField({
  values: { expiration, date },
  message,
  today,
  rules,
  noneLast = false,
}: ExpirationProps) {
  const none = rules.expiryRequired ? [] : ['none'];
  const lifetimes = [...lifetimesAllowed(rules), 'date'];
  const choices = noneLast ? [...lifetimes, ...none] : [...none, ...lifetimes];
  const isOffered = expiration !== undefined && choices.includes(expiration);
  return (
    <div class="field">
      <label for="expiration">Expiration</label>
      <div class="row">
        <select id="expiration" name="expiration" required {...describedBy('expiration', message, true)}>
          {!isOffered && <option value="">Choose…</option>}
          {choices.map((choice) => (
            <option value={choice} selected={choice === expiration}>
              {EXPIRATIONS[choice]}
            </option>
          ))}
        </select>
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
      </div>
      <p class="help" id="expiration-help">
        The key works until the end of its last day. Enter a date only with “On a date”.
        <KeyRulesHelp rules={rules} />
      </p>
      <FieldMessage id="expiration" message={message} />
    </div>
  );
}

/** Why the form does not offer every expiration. */
function KeyRulesHelp({ rules }: Pick<FormProps, 'rules'>) {
  const { base } = usePage();
  if (!rules.expiryRequired) return null;
  const { maxLifetimeDays } = rules;
  return (
    <>
      {' '}
      The <a href={`${base}/key-rules`}>key rules of your organization</a>{' '}
      {maxLifetimeDays === null ? 'require an expiration.' : `allow at most ${counted(maxLifetimeDays, 'day')}.`}
    </>
  );
}

function Addresses({ of }: { of: readonly string[] }) {
  return (
    <>
      {of.map((address, index) => (
        <>
          {index > 0 && ', '}
          <Address address={address} />
        </>
      ))}
    </>
  );
}
