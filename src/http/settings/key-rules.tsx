import { type Context, Hono } from 'hono';
import { hasCode } from '../../domain/errors.ts';
import { MAX_RULE_DAYS } from '../../domain/key-rules.ts';
import { MAX_MINUTES } from '../../domain/record-kinds.ts';
import { DEFAULT_LONG_MINUTES } from '../../domain/time-marks.ts';
import { type Administrator, listAdministrators } from '../../services/directory/administrators.ts';
import { changeKeyRules, getKeyRules, type StoredKeyRules } from '../../services/keys/change-key-rules.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { chosenNumber, type FormState, mergedForm, messagesOf, openedForm, readForm, shownCount } from './forms.ts';
import { keyListPath } from './key-query.ts';
import { redirectWith, usePage } from './page-context.ts';
import { Table, type TableColumn } from './pages/components.tsx';
import { CardForm, Conflict, Field } from './pages/form.tsx';
import { Time } from './pages/time.tsx';
import { renderForm } from './render-page.tsx';

export const keyRules = new Hono<AdminEnv>();

keyRules.get('/key-rules', async (c) => {
  const rules = await getKeyRules(adminContext(c));
  return renderRules(c, { revision: rules.revision, form: { values: openedForm(rulesInForm(rules)) } });
});

const rulesInForm = (rules: StoredKeyRules): [field: string, value: string][] => [
  ['maxLifetimeDays', String(rules.maxLifetimeDays ?? '')],
  ['expiryRequired', rules.expiryRequired ? 'on' : ''],
  ['longMinutes', String(rules.longMinutes)],
];

const NOTICES = {
  changed: 'The key rules are saved. Lifetime and expiration apply to keys that are created or rotated from now on.',
  unchanged: 'No changes to save.',
};

keyRules.post('/key-rules', async (c) => {
  const values = await readForm(c);
  const revision = shownCount(values, 'revision');
  try {
    const result = await changeKeyRules(adminContext(c), revision, {
      maxLifetimeDays: chosenNumber(values, 'maxLifetimeDays'),
      expiryRequired: values.has('expiryRequired'),
      longMinutes: chosenNumber(values, 'longMinutes') ?? DEFAULT_LONG_MINUTES,
    });
    return redirectWith(c, '/key-rules', NOTICES[result]);
  } catch (err) {
    // After an error the form keeps the revision that it showed.
    if (hasCode(err, 'invalid'))
      return renderRules(c, { revision, form: { values, messages: messagesOf(err.errors) } });
    if (!hasCode(err, 'key_rules_changed_meanwhile')) throw err;
    const rules = await getKeyRules(adminContext(c));
    const form = { values: mergedForm(values, rulesInForm(rules)), messages: {} };
    return renderRules(c, { revision: rules.revision, form, isConflict: true });
  }
});

async function renderRules(c: Context<AdminEnv>, props: Props) {
  const lead = <p class="minor">Rules for the keys of this organization, and for their time.</p>;
  const administrators = await listAdministrators(adminContext(c));
  const { hasPsa } = c.get('administrator').organization;
  const page = (
    <>
      <KeyRulesPage {...props} />
      <Administrators {...{ administrators, hasPsa }} />
    </>
  );
  return renderForm(c, 'Key rules', page, props.form, { lead });
}

/** The people who administer the organization, when each last changed something, and how others become one. */
function Administrators({ administrators, hasPsa }: { administrators: readonly Administrator[]; hasPsa: boolean }) {
  return (
    <section aria-labelledby="administrators">
      <h2 id="administrators">Administrators</h2>
      <p class="minor">
        {hasPsa
          ? 'They come from your PSA. To add one, give the person the administrator role there; to remove one, take it away.'
          : 'They come from the directory that the operator of this service imports. Ask the operator to add or remove one.'}{' '}
        All of them can do everything here.
      </p>
      <Table caption="Administrators" columns={ADMINISTRATORS} rows={administrators} />
    </section>
  );
}

const ADMINISTRATORS: readonly TableColumn<Administrator>[] = [
  ['Name', ({ name }) => <bdi>{name}</bdi>],
  ['Email', ({ email }) => <bdi>{email}</bdi>],
  ['Last change here', ({ lastChangeAt }) => (lastChangeAt === null ? 'None' : <Time at={lastChangeAt} />)],
];

interface Props {
  form: FormState;
  /** The revision of the key rules that the form shows. */
  revision: number;
  /** Whether others changed the key rules since the form was opened, after which nothing was saved. */
  isConflict?: boolean;
}

const LONG_MINUTES = 'Mark entries of time from … minutes';

const FIELDS = [
  ['maxLifetimeDays', 'Longest lifetime'],
  ['longMinutes', LONG_MINUTES],
] as const;

function KeyRulesPage({ form, revision, isConflict }: Props) {
  const { base } = usePage();
  const history = `${base}/audit?action=key_rules.changed`;
  return (
    <CardForm
      form={form}
      action={`${base}/key-rules`}
      fields={FIELDS}
      nothing="Nothing was saved."
      hidden={{ revision, shown: form.values.get('shown') ?? '' }}
      notice={isConflict && <Conflict what="organization’s key rules" history={history} />}
      actions={
        <>
          <button type="submit">Save key rules</button>
          <a href={history}>Changes of the rules</a>
        </>
      }
    >
      <Field
        name="maxLifetimeDays"
        form={form}
        control="number"
        max={MAX_RULE_DAYS}
        label="Longest lifetime of new keys, in days (optional)"
        help="A new key works until the end of the last of these days. Empty: any lifetime."
      />
      <div class="field">
        <label class="choice">
          <input type="checkbox" name="expiryRequired" checked={form.values.get('expiryRequired') === 'on'} /> New keys
          must expire
        </label>
        <p class="help">
          Setting a longest lifetime also turns this on. Existing keys keep their expiration.{' '}
          <a href={keyListPath(base, { expires: 'never' })}>Keys that never expire</a>
        </p>
      </div>
      <Field
        name="longMinutes"
        form={form}
        control="number"
        max={MAX_MINUTES}
        label={LONG_MINUTES}
        help={`Where you approve time, these entries come first, and “Approve … unmarked” leaves them out. Empty: ${DEFAULT_LONG_MINUTES}.`}
      />
    </CardForm>
  );
}
