import { MAX_NETWORKS } from '../../../domain/allowed-networks.ts';
import { yearsLater } from '../../../domain/calendar.ts';
import { type DayLimit, MAX_DAY_MINUTES, MAX_DAY_RECORDS, type OwnDayLimit } from '../../../domain/day-limit.ts';
import { MAX_DESCRIPTION_LENGTH, MAX_EXPIRY_YEARS, MAX_OWNER_LENGTH } from '../../../domain/key-input.ts';
import { type KeyRules, lastDayAllowed } from '../../../domain/key-rules.ts';
import type { RequestLimit } from '../../../domain/request-limit.ts';
import { USAGE_DAYS } from '../../../services/keys/key-usage.ts';
import type { RecentAddresses } from '../../../services/keys/recent-addresses.ts';
import type { PageContext } from '../page-context.ts';
import { Address, counted, describedBy, FieldMessage, formatNumber } from './components.tsx';
import { NumberField, TextField } from './input-field.tsx';

/** Error messages by field. `form` is for errors that do not belong to one field. */
export type Messages = Partial<
  Record<
    | 'name'
    | 'scopes'
    | 'expiration'
    | 'limit'
    | 'dayRecords'
    | 'dayMinutes'
    | 'networks'
    | 'description'
    | 'owner'
    | 'grace'
    | 'form',
    string
  >
>;

/** The values of a form as the administrator entered them, to show again with error messages. */
export interface FormValues {
  name?: string | undefined;
  scopes?: readonly string[];
  expiration?: string | undefined;
  date?: string | undefined;
  limit?: string | undefined;
  dayRecords?: string | undefined;
  dayMinutes?: string | undefined;
  networks?: string | undefined;
  description?: string | undefined;
  owner?: string | undefined;
  grace?: string | undefined;
}

export interface FormProps {
  context: PageContext;
  token: string;
  values: FormValues;
  messages: Messages;
  today: string;
  rules: KeyRules;
}

/** The deployment's limits for a key. */
export interface DefaultLimits {
  defaultLimit: RequestLimit;
  defaultDayLimit: DayLimit | null;
}

export function NameField({ value, message }: { value: string | undefined; message: string | undefined }) {
  return (
    <div class="field">
      <label for="name">Name</label>
      <input
        id="name"
        name="name"
        type="text"
        value={value}
        maxlength={100}
        required
        autocomplete="off"
        placeholder="n8n prod: alert triage"
        {...describedBy('name', message, true)}
      />
      <p class="help" id="name-help">
        Use one key per workflow. The name appears in the audit log with everything the key writes.
      </p>
      <FieldMessage id="name" message={message} />
    </div>
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

interface ExpirationProps extends Pick<FormProps, 'context' | 'values' | 'today' | 'rules'> {
  message: string | undefined;
  /** Offers no expiration as the last choice, not as the first one. */
  noneLast?: boolean;
}

export function ExpirationField({
  context,
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
        <KeyRulesHelp rules={rules} context={context} />
      </p>
      <FieldMessage id="expiration" message={message} />
    </div>
  );
}

/** Why the form does not offer every expiration. */
function KeyRulesHelp({ rules, context }: Pick<FormProps, 'rules' | 'context'>) {
  if (!rules.expiryRequired) return null;
  const { maxLifetimeDays } = rules;
  return (
    <>
      {' '}
      The <a href={`${context.base}/key-rules`}>key rules of your organization</a>{' '}
      {maxLifetimeDays === null ? 'require an expiration.' : `allow at most ${counted(maxLifetimeDays, 'day')}.`}
    </>
  );
}

interface LimitProps {
  value: string | undefined;
  message: string | undefined;
  defaultLimit: RequestLimit;
  /** The key's own limit, if it has one. A changed limit keeps its window. */
  own?: RequestLimit | null;
}

export function LimitField({ value, message, defaultLimit, own }: LimitProps) {
  const max = Math.max(defaultLimit.quota, own?.quota ?? 0);
  const seconds = (own ?? defaultLimit).windowMs / 1000;
  return (
    <NumberField
      id="limit"
      label={`Request limit per ${seconds} seconds (optional)`}
      value={value}
      message={message}
      max={max}
      help={`If you leave this empty, the limit for all keys applies: ${defaultLimit.quota} requests per ${defaultLimit.windowMs / 1000} seconds.`}
    />
  );
}

interface DayLimitProps {
  values: FormValues;
  messages: Messages;
  defaultDayLimit: DayLimit | null;
  /** The key's own daily limits. */
  own?: OwnDayLimit;
}

export function DayLimitFields({ values, messages, defaultDayLimit, own }: DayLimitProps) {
  const records = defaultDayLimit?.records;
  return (
    <>
      <NumberField
        id="day_records"
        label="New records per day (optional)"
        value={values.dayRecords}
        message={messages.dayRecords}
        max={Math.max(records ?? MAX_DAY_RECORDS, own?.records ?? 0)}
        help={
          records === undefined
            ? 'Notes and time entries together. If you leave this empty, the number of records is not limited.'
            : `Notes and time entries together. If you leave this empty, the limit for all keys applies: ${formatNumber(records)} new records per day.`
        }
      />
      <NumberField
        id="day_minutes"
        label="Minutes per day (optional)"
        value={values.dayMinutes}
        message={messages.dayMinutes}
        max={MAX_DAY_MINUTES}
        help="Minutes of all time entries together. If you leave this empty, the minutes are not limited."
      />
    </>
  );
}

/** What the key is for, and whom to ask about it. */
export function PurposeFields({ values, messages }: { values: FormValues; messages: Messages }) {
  return (
    <>
      <TextField
        id="description"
        label="Description (optional)"
        value={values.description}
        message={messages.description}
        max={MAX_DESCRIPTION_LENGTH}
        help="What the workflow does, or where it runs."
      />
      <TextField
        id="owner"
        label="Owner (optional)"
        value={values.owner}
        message={messages.owner}
        max={MAX_OWNER_LENGTH}
        help="The person or team to ask before the key is revoked."
      />
    </>
  );
}

interface NetworksProps {
  value: string | undefined;
  message: string | undefined;
  /** Where the key was used lately. */
  seen?: RecentAddresses;
}

export function NetworksField({ value, message, seen }: NetworksProps) {
  return (
    <div class="field">
      <label for="networks">Allowed networks (optional)</label>
      <textarea
        id="networks"
        name="networks"
        rows={3}
        spellcheck={false}
        placeholder="203.0.113.0/24"
        {...describedBy('networks', message, true)}
      >
        {value}
      </textarea>
      <p class="help" id="networks-help">
        At most {MAX_NETWORKS} IPv4 or IPv6 networks, one on each line. Requests from elsewhere are refused. If you
        leave this empty, the key works from everywhere.
        {seen && seen.wrote.length > 0 && (
          <>
            {' '}
            Wrote in the last {USAGE_DAYS} days from <Addresses of={seen.wrote} />.
          </>
        )}
        {seen && seen.refused.length > 0 && (
          <>
            {' '}
            Refused from <Addresses of={seen.refused} />.
          </>
        )}
      </p>
      <FieldMessage id="networks" message={message} />
    </div>
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

/** Whether the fold of the form has something to see. */
export function hasAdvanced(values: FormValues, messages: Messages): boolean {
  return [
    [values.limit, messages.limit],
    [values.dayRecords, messages.dayRecords],
    [values.dayMinutes, messages.dayMinutes],
    [values.networks, messages.networks],
    [values.description, messages.description],
    [values.owner, messages.owner],
  ]
    .flat()
    .some((text) => text !== undefined && text !== '');
}
