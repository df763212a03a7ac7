import { isLive } from '../../../domain/api-key.ts';
import { addDays, DAY_MS, dateText, yearsLater } from '../../../domain/calendar.ts';
import { MAX_EXPIRY_YEARS } from '../../../domain/key-input.ts';
import { type KeyRules, lastDayAllowed } from '../../../domain/key-rules.ts';
import { RECORD_KIND_NAMES, RECORD_KINDS } from '../../../domain/record-kinds.ts';
import type { Workflow } from '../../../services/keys/key-workflows.ts';
import type { KeyDetails } from '../../../services/keys/read-keys.ts';
import { Icon } from '../../page/icon.tsx';
import type { FormState } from '../forms.ts';
import { addressOf, usePage } from '../page-context.ts';
import { Banner, counted, Hint, SCOPE_ICONS } from './components.tsx';
import { CardForm, Choices, Conflict, describedBy, FieldMessage } from './form.tsx';
import { ADVANCED, BASIC, FIELDS, SettingFields, type SettingsProps, SubmitOrCancel } from './key-setting-fields.tsx';
import { Ago } from './time.tsx';
import { TitledWorkflows } from './workflows.tsx';

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

const LACKS_SCOPE = 'Both scopes are selected: the key lacked one for which requests were refused.';

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
