import type { ExceededDayLimit } from '../../../domain/day-limit.ts';
import { MAX_NAME_LENGTH } from '../../../domain/directory.ts';
import { KEY_SETTING_NAMES, type KeySettingName, keySetting } from '../../../domain/key-settings.ts';
import { limitField } from '../../../domain/refused-use.ts';
import type { OfferedCompanies } from '../../../services/directory/companies.ts';
import { type RecentUse, USAGE_DAYS } from '../../../services/keys/key-usage.ts';
import { ALL_COMPANIES, type FormState, SOME_COMPANIES, searchedCompany, TAKEN_NAME } from '../forms.ts';
import { keyListPath } from '../key-query.ts';
import { usePage } from '../page-context.ts';
import { Address, Cancel, formatNumber } from './components.tsx';
import { Choices, Field } from './form.tsx';
import { CompanyName } from './key-facts.tsx';
import { limitText } from './refusal.tsx';

/** The settings before the fold of a new key's form, and those in it: all others, except for the companies. */
export const BASIC: readonly KeySettingName[] = ['name', 'owner'];
export const ADVANCED = KEY_SETTING_NAMES.filter((name) => !BASIC.includes(name) && name !== 'companies');

const labelled = (names: readonly KeySettingName[]) => names.map((name) => [name, keySetting(name).label] as const);
/** Every field of the forms of a key, in order. */
export const FIELDS = [
  ...labelled(BASIC),
  ['scopes', 'What the key can write'],
  ...labelled(['companies']),
  ['grace', 'Grace period'],
  ['expires', 'Expiration'],
  ...labelled(ADVANCED),
] as const;

/** The buttons of a form that leads back to a page. */
export const SubmitOrCancel = ({ submit, cancel }: { submit: string; cancel: string }) => (
  <>
    <button type="submit">{submit}</button>
    <Cancel to={cancel} />
  </>
);

/** The form, with what it offers to enter. */
export interface SettingsProps {
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

/** The fields of these settings, each with what helps to enter it. */
export function SettingFields({
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
function CompaniesField({ form, offered: { companies, areAll, hasMore } }: Pick<SettingsProps, 'form' | 'offered'>) {
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
            {hasMore && 'There are more: enter more of the name. '}
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
              autofocus={searched !== undefined && !first}
            />
            {/* Enter presses the first button of a form: this one, which saves it unless a company is entered. */}
            <button type="submit" hidden formnovalidate />
            <button type="submit" class="quiet" name="search" value="yes" formnovalidate>
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
