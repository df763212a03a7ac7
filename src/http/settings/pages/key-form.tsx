import { isLive } from '../../../domain/api-key.ts';
import { addDays, DAY_MS, dateText, yearsLater } from '../../../domain/calendar.ts';
import type { ExceededDayLimit } from '../../../domain/day-limit.ts';
import { MAX_NAME_LENGTH } from '../../../domain/directory.ts';
import { MAX_EXPIRY_YEARS } from '../../../domain/key-input.ts';
import { type KeyRules, lastDayAllowed } from '../../../domain/key-rules.ts';
import { KEY_SETTING_NAMES, type KeySettingName, keySetting } from '../../../domain/key-settings.ts';
import { hostNetwork, MAX_NETWORKS } from '../../../domain/networks.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS } from '../../../domain/record-kinds.ts';
import { limitField } from '../../../domain/refused-use.ts';
import type { OfferedCompanies } from '../../../services/directory/companies.ts';
import { type Lockout, type RecentUse, USAGE_DAYS } from '../../../services/keys/key-usage.ts';
import type { Workflow } from '../../../services/keys/key-workflows.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { Icon } from '../../page/icon.tsx';
import { ALL_COMPANIES, type FormState, SOME_COMPANIES, searchedCompany, TAKEN_NAME } from '../forms.ts';
import { keyListPath } from '../key-query.ts';
import { addressOf, usePage } from '../page-context.ts';
import { Address, Banner, Cancel, counted, formatNumber, Hint, SCOPE_ICONS } from './components.tsx';
import { limitWords } from './day-use.ts';
import { CardForm, Choices, Conflict, describedBy, Field, FieldMessage } from './form.tsx';
import { CompanyName } from './key-facts.tsx';
import { limitText } from './refusal.tsx';
import { Ago } from './time.tsx';
import { TitledWorkflows } from './workflows.tsx';

/** The settings before the fold of a new key's form, and those in it: all others, except for the companies. */
const BASIC: readonly KeySettingName[] = ['name', 'owner'];
const ADVANCED = KEY_SETTING_NAMES.filter((name) => !BASIC.includes(name) && name !== 'companies');

const labelled = (names: readonly KeySettingName[]) => names.map((name) => [name, keySetting(name).label] as const);
/** Every field, in order. */
const FIELDS = [
  ...labelled(BASIC),
  ['scopes', 'What the key can write'],
  ...labelled(['companies']),
  ['grace', 'Grace period'],
  ['expires', 'Expiration'],
  ...labelled(ADVANCED),
] as const;

/** The buttons of a form that leads back to a page. */
const SubmitOrCancel = ({ submit, cancel }: { submit: string; cancel: string }) => (
  <>
    <button type="submit">{submit}</button>
    <Cancel to={cancel} />
  </>
);

interface SettingsProps {
  form: FormState;
  /** The administrators, who may be owners. */
  owners: readonly string[];
  /** The companies to choose from. */
  offered: OfferedCompanies;
  seen?: RecentUse;
  /** The limits of the key that refused its writes today. */
  exceeded?: readonly ExceededDayLimit[];
}

const TakenName = ({ form }: Pick<SettingsProps, 'form'>) => (
  <span>
    {TAKEN_NAME}{' '}
    <a href={keyListPath(usePage().base, { q: String(form.values.get('name')), state: 'all' })}>Show the other key</a>
  </span>
);

function SettingFields({
  names,
  form,
  owners,
  offered,
  seen,
  exceeded = [],
}: SettingsProps & { names: readonly KeySettingName[] }) {
  return names.map((name) => {
    const { label, help, required, control, ...field } = keySetting(name);
    if (control === 'companies') return <CompaniesField form={form} offered={offered} />;
    const { messages } = form;
    const shown = messages?.[name] === TAKEN_NAME ? { ...messages, [name]: <TakenName form={form} /> } : messages;
    return (
      <Field
        {...{ ...field, name, required, control }}
        form={{ ...form, ...(shown && { messages: shown }) }}
        label={`${label}${required ? '' : ' (optional)'}`}
        suggestions={name === 'owner' ? owners : undefined}
        help={
          <>
            {help}
            {name === 'allowedNetworks' && <Seen {...seen} />}
            {exceeded
              .filter((limit) => name === limitField(limit))
              .map((limit) => (
                <p class="seen">
                  <strong>Refused today:</strong>
                  <span>
                    {limitText(limit)} A limit of {formatNumber(limit.used + limit.added)} admits it.
                  </span>
                </p>
              ))}
          </>
        }
      />
    );
  });
}

const COMPANY_CHOICES = [
  { value: ALL_COMPANIES, text: 'All companies' },
  { value: SOME_COMPANIES, text: 'Only these companies' },
];

/** The choice of companies, with a search unless all are offered. The search shows the form again, with the companies that it finds. */
function CompaniesField({ form, offered: { companies, areAll } }: Pick<SettingsProps, 'form' | 'offered'>) {
  const { label, help } = keySetting('companies');
  const searched = searchedCompany(form.values);
  const first = companies.find(({ id }) => !form.values.has('companies', id));
  return (
    <Choices
      name="companies"
      form={form}
      legend={`${label} whose tickets the key can write to`}
      choices={COMPANY_CHOICES}
      isRow
    >
      <div class="few">
        {companies.map((company) => (
          <label class="choice">
            <input
              type="checkbox"
              name="companies"
              value={company.id}
              checked={form.values.has('companies', company.id)}
              autofocus={searched !== undefined && company === first}
            />{' '}
            <CompanyName company={company} />
          </label>
        ))}
        {searched !== undefined && (
          <p class="help">
            {first
              ? 'Select the companies that the key is for.'
              : `No other active company has “${searched}” in its name.`}
          </p>
        )}
        {!areAll && (
          <div class="row">
            <input
              type="search"
              name="find"
              aria-label="Name or ID of a company"
              placeholder="Name or ID"
              maxlength={MAX_NAME_LENGTH}
            />
            {/* Enter presses the first button of a form: this one, which saves it unless a company is entered. */}
            <button type="submit" hidden />
            <button type="submit" class="quiet" name="search" value="yes">
              Find companies
            </button>
          </div>
        )}
      </div>
      <p class="help" id="companies-help">
        {help}
      </p>
    </Choices>
  );
}

/** How many IP addresses the form offers. */
const MAX_SEEN = 10;

/** The IP addresses to allow: where this browser is, and where the key was used. With script, a click adds one. */
function Seen({ wrote = [], refused = [] }: Partial<RecentUse>) {
  const { address } = usePage();
  return (
    <>
      <SeenAddresses text="You are at" addresses={address === null ? [] : [address]} />
      <SeenAddresses
        text={`Wrote in the last ${USAGE_DAYS} days from`}
        addresses={wrote.slice(0, MAX_SEEN).map((one) => one.address)}
      />
      <SeenAddresses text="Refused from" addresses={refused} />
    </>
  );
}

function SeenAddresses({ text, addresses }: { text: string; addresses: readonly string[] }) {
  return addresses.length === 0 ? null : (
    <p class="seen">
      {text}
      {addresses.map((address) => (
        <button type="button" class="quiet" data-add="allowedNetworks" value={address} disabled>
          <Address address={address} />
        </button>
      ))}
    </p>
  );
}

interface TokenProps extends ExpirationProps {
  token: string;
}

type NewKeyProps = TokenProps & Pick<SettingsProps, 'owners' | 'offered'>;

/** `like` is the key whose values the form begins with. */
export function NewKeyForm({ token, like, ...fields }: NewKeyProps & { like: KeyDetails | undefined }) {
  const { base } = usePage();
  return (
    <CardForm
      form={fields.form}
      action={addressOf(`${base}/keys`, { like: like?.id })}
      fields={FIELDS}
      nothing="Nothing was created."
      hidden={{ token }}
      actions={<SubmitOrCancel submit="Create key" cancel={`${base}/keys`} />}
    >
      <NewKeyFields {...fields} />
    </CardForm>
  );
}

interface ReplaceProps extends NewKeyProps {
  replaced: KeyDetails;
  /** The revision of that key that the form shows. */
  revision: number;
  /** Whether others changed that key since the form was opened, after which nothing was created. */
  isConflict?: boolean;
  /** Whether requests were refused because the key lacks a scope, so that the form preselects all. */
  lacksScope: boolean;
  workflows: readonly Workflow[];
}

/** The form for a new key that takes the place of another, which has ended or lacks a scope. */
export function ReplaceForm(props: ReplaceProps) {
  const { replaced, revision, isConflict, lacksScope, workflows, token, ...fields } = props;
  const { base } = usePage();
  const path = `${base}/keys/${replaced.id}`;
  const works = isLive(replaced.state);
  return (
    <CardForm
      form={fields.form}
      action={`${path}/replace`}
      fields={FIELDS}
      nothing="Nothing was created."
      notice={
        <>
          {isConflict && <Conflict what="key" history={`${base}/audit?key=${replaced.id}`} />}
          <Banner tone="neutral">
            {works ? (
              <>
                <Hint hint={replaced.hint} /> keeps working for the grace period. Enter the new key in its automation.
              </>
            ) : (
              <>
                The new key takes the place of <Hint hint={replaced.hint} />, which{' '}
                {replaced.state === 'revoked' ? 'was revoked' : 'expired'}{' '}
                <Ago at={replaced.revokedAt ?? replaced.expiresAt ?? 0} />. Enter it in the automation.
              </>
            )}
            {lacksScope && ` ${LACKS_SCOPE}`}
            <TitledWorkflows title="Used by" workflows={workflows} />
          </Banner>
        </>
      }
      hidden={{ token, revision, shown: fields.form.values.get('shown') ?? '' }}
      actions={<SubmitOrCancel submit="Create the replacement" cancel={path} />}
    >
      <NewKeyFields {...fields} grace={works} />
    </CardForm>
  );
}

const LACKS_SCOPE = 'Both scopes are selected, because requests were refused for the one that the key lacks.';

function NewKeyFields({
  owners,
  offered,
  grace = false,
  ...expiration
}: Omit<NewKeyProps, 'token'> & { grace?: boolean }) {
  const { form } = expiration;
  const settings = { form, owners, offered };
  return (
    <>
      <SettingFields names={BASIC} {...settings} />
      <fieldset {...describedBy('scopes', form.messages)}>
        <legend>What the key can write</legend>
        <div class="tiles-2">
          {RECORD_KIND_NAMES.map((kind, index) => {
            const { scope, scopeLabel, scopeHelp, path } = RECORD_KINDS[kind];
            return (
              <label class="tile">
                <input
                  type="checkbox"
                  name="scopes"
                  id={index === 0 ? 'scopes' : undefined}
                  value={scope}
                  checked={form.values.has('scopes', scope)}
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
        <FieldMessage name="scopes" messages={form.messages} />
      </fieldset>
      <SettingFields names={['companies']} {...settings} />
      {grace && <GraceField form={form} />}
      <ExpirationField {...expiration} />
      <details class="advanced" open={ADVANCED.some((name) => form.values.get(name) || form.messages?.[name])}>
        <summary>Advanced: description, daily limits and networks</summary>
        <SettingFields names={ADVANCED} {...settings} />
      </details>
    </>
  );
}

const GRACES = [
  { value: '1h', text: 'For 1 hour' },
  { value: '24h', text: 'For 24 hours' },
  { value: '7d', text: 'For 7 days' },
  { value: 'now', text: 'No grace period: revoke it now' },
];

const GraceField = ({ form }: { form: FormState }) => (
  <Choices name="grace" form={form} legend="Grace period: how long the old key keeps working" choices={GRACES} />
);

interface RotateProps extends TokenProps {
  subject: KeyDetails;
  workflows: readonly Workflow[];
}

export function RotateForm({ subject: key, workflows, token, ...expiration }: RotateProps) {
  const { base } = usePage();
  const path = `${base}/keys/${key.id}`;
  const { form } = expiration;
  return (
    <CardForm
      form={form}
      action={`${path}/rotate`}
      fields={FIELDS}
      nothing="Nothing was rotated."
      hidden={{ token }}
      actions={<SubmitOrCancel submit="Rotate" cancel={path} />}
    >
      <div class="field">
        <p>
          The new key has the same name, scopes, owner, companies, limits and networks as <Hint hint={key.hint} />.
          Enter it in the automation while both work.{' '}
          {key.expiresAt === null ? 'The old key never expires.' : 'The preselected lifetime is that of the old key.'}{' '}
          If a scope is missing, <a href={`${path}/replace`}>create its replacement</a> instead.
        </p>
        <TitledWorkflows title="Used by" workflows={workflows} />
      </div>
      <GraceField form={form} />
      <ExpirationField {...expiration} />
    </CardForm>
  );
}

/** What a repair enters in the form: an address or the id of a company that the key does not allow. */
export interface Added {
  address?: string | undefined;
  company?: string | undefined;
}

interface ChangeProps extends SettingsProps {
  subject: KeyDetails;
  added?: Added;
  /** The revision of the key that the form shows. */
  revision: number;
  /** Whether others changed the key since the form was opened, after which nothing was saved. */
  isConflict?: boolean;
  /** The recent use that the settings would refuse: nothing was saved, and saving again confirms it. */
  lockout?: Lockout;
}

/** The form to change a key's settings. */
export function ChangeForm({ subject: key, added, revision, isConflict, lockout, ...fields }: ChangeProps) {
  const { base } = usePage();
  const path = `${base}/keys/${key.id}`;
  return (
    <CardForm
      form={fields.form}
      action={`${path}/change`}
      fields={FIELDS}
      nothing="Nothing was saved."
      hidden={{ revision, shown: fields.form.values.get('shown') ?? '', ...(lockout && { confirmed: 'yes' }) }}
      actions={<SubmitOrCancel submit={lockout ? 'Save anyway' : 'Save'} cancel={path} />}
      notice={
        <>
          {added && <AddedNotice {...added} offered={fields.offered} />}
          {isConflict && <Conflict what="key" history={`${base}/audit?key=${key.id}`} />}
          {lockout && <LockoutQuestion {...lockout} entered={fields.form.values.get('allowedNetworks') ?? ''} />}
        </>
      }
      hasDraft={added === undefined}
    >
      <SettingFields names={[...BASIC, 'companies', ...ADVANCED]} {...fields} />
    </CardForm>
  );
}

/** Names what saving the form of a repair also allows: among many companies, one more selected is easily missed. */
function AddedNotice({ address, company: id, offered }: Added & Pick<SettingsProps, 'offered'>) {
  const company = offered.companies.find((one) => one.id === id);
  if (!address && !company) return null;
  return (
    <Banner tone="warning" id="added">
      <strong>Not saved yet.</strong> <em>Save</em> also allows:{' '}
      {company ? <CompanyName company={company} /> : address && <Address address={address} />}
    </Banner>
  );
}

/**
 * Asks before a change that would refuse recent use of the key, with a button that allows this use unless the addresses
 * and the entered networks are more than a key can have.
 */
function LockoutQuestion({ addresses, records, minutes, entered }: Lockout & { entered: string }) {
  const [first, ...others] = addresses;
  const hasRoom = entered.split(/\s+/).filter(Boolean).length + addresses.length <= MAX_NETWORKS;
  const limits = limitWords({ records, minutes });
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
      {hasRoom ? (
        <>
          {/* Enter presses the first button of a form: this one, so that it neither allows nor saves. */}
          <button type="submit" form="form" disabled hidden />
          <button type="submit" form="form" name="widened" value={addresses.map(({ address }) => address).join(' ')}>
            Allow {remedies.join(' and ')} too
          </button>
        </>
      ) : (
        <p>A key can have {MAX_NETWORKS} networks. To allow these addresses, enter the networks that contain them.</p>
      )}
    </Banner>
  );
}

const LIFETIMES = ['30', '90', '365'];
const DEFAULT_LIFETIME_DAYS = 90;

/**
 * The expiration that a form for a new key preselects: the lifetime of the key that it takes the place of, or 90 days if
 * there is none or it never expires; and no more than the key rules allow.
 */
export function preselectedExpiration(rules: KeyRules, today: string, like?: KeyDetails): Record<string, string> {
  const lifetime = like?.expiresAt ? Math.max(1, Math.floor((like.expiresAt - like.createdAt) / DAY_MS)) : undefined;
  const days = Math.min(lifetime ?? DEFAULT_LIFETIME_DAYS, rules.maxLifetimeDays ?? Number.POSITIVE_INFINITY);
  return LIFETIMES.includes(String(days)) ? { expires: String(days) } : { expires: 'date', date: addDays(today, days) };
}

interface ExpirationProps {
  form: FormState;
  today: string;
  rules: KeyRules;
}

/** The choices of a lifetime, each with its last day, and a date. */
function ExpirationField({ form, today, rules }: ExpirationProps) {
  const { base } = usePage();
  const { maxLifetimeDays, expiryRequired } = rules;
  const days = LIFETIMES.filter((one) => maxLifetimeDays === null || Number(one) <= maxLifetimeDays);
  const choices = [
    ...days.map((one) => ({ value: one, text: `${one} days`, minor: dateText(addDays(today, Number(one))) })),
    { value: 'date', text: 'On a date' },
    { value: 'none', text: 'Never', isOff: expiryRequired },
  ];
  return (
    <Choices name="expires" form={form} legend="Expiration" choices={choices} isRow>
      <label class="inline" data-date>
        Date{' '}
        <input
          type="date"
          name="date"
          value={form.values.get('date') ?? undefined}
          min={today}
          max={lastDayAllowed(rules, today) ?? yearsLater(today, MAX_EXPIRY_YEARS)}
        />
      </label>
      <p class="help" id="expires-help">
        The key works until the end of its last day.
        {expiryRequired && (
          <>
            {' '}
            “Never” is off: the <a href={`${base}/key-rules`}>key rules of your organization</a>{' '}
            {maxLifetimeDays === null ? 'require an expiration.' : `allow at most ${counted(maxLifetimeDays, 'day')}.`}
          </>
        )}
      </p>
    </Choices>
  );
}
