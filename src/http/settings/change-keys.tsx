import { type Context, Hono } from 'hono';
import { hasCode } from '../../domain/errors.ts';
import { log } from '../../lib/log.ts';
import { keysOf } from '../../lib/objects.ts';
import { listAdministratorNames } from '../../services/directory/administrators.ts';
import {
  changeSelectedKeys,
  type KeyOutcome,
  previewChange,
  type SharedChange,
} from '../../services/keys/change-keys.ts';
import { listKeys } from '../../services/keys/list-keys.ts';
import { countLiveKeys, getOwnKey, type KeyDetails, listKeysById } from '../../services/keys/read-keys.ts';
import { revokeAllKeys, revokeAsAdministrator, revokeSelectedKeys } from '../../services/keys/revoke-key.ts';
import { searchable } from '../../services/keys/select-keys.ts';
import { type AdminEnv, adminContext } from '../hono-env.ts';
import { type FormState, messagesOf, readForm } from './forms.ts';
import { renderKeyList } from './key-list.tsx';
import { isFiltered, keyListPath, readKeyQuery } from './key-query.ts';
import { factOptions, pageContext, parametersOf, redirectWith, todayOf, usePage } from './page-context.ts';
import { PageProblem } from './page-problem.ts';
import { counted, Table, type TableColumn } from './pages/components.tsx';
import { ConfirmKeys } from './pages/confirm.tsx';
import { ErrorSummary, Field } from './pages/form.tsx';
import { KeyName } from './pages/key-facts.tsx';
import { render, renderForm, trail } from './render-page.tsx';

const NOTICES = {
  revoked: 'The key is revoked. Requests with it are now refused.',
  already_revoked: 'The key was already revoked.',
};
const revokedText = (keys: number) =>
  keys === 1 ? NOTICES.revoked : `${counted(keys, 'key')} are revoked. Requests with them are now refused.`;

/** The pages to revoke one key, to change or revoke several, and to revoke all. */
export const changeKeys = new Hono<AdminEnv>();

changeKeys.get('/keys/:key/revoke', async (c) => {
  const key = await getOwnKey(adminContext(c), c.req.param('key'));
  const path = `/keys/${key.id}`;
  if (key.state === 'revoked') return redirectWith(c, path, NOTICES.already_revoked);
  const form = { action: c.req.path, button: 'Revoke', cancel: `${pageContext(c).base}${path}` };
  const page = <ConfirmKeys {...form} keys={[key]} isRevocation />;
  return render(c, `Revoke ${key.name}${key.successor ? ' now' : ''}?`, page, { trail: trail(c, key) });
});

changeKeys.post('/keys/:key/revoke', async (c) => {
  const keyId = c.req.param('key');
  const result = await revokeAsAdministrator(adminContext(c), keyId);
  return redirectWith(c, `/keys/${keyId}`, NOTICES[result]);
});

// --- several keys --------------------------------------------------------------------------------

/** What several keys can get: the words of the title, and the label of the field. */
const CHANGES: Record<SharedChange, { title: string; label: string }> = {
  owner: { title: 'Change the owner of', label: 'New owner' },
  allowedNetworks: { title: 'Allow an address for', label: 'Address or network to allow' },
  expires: { title: 'Extend the expiry of', label: 'New last day' },
};

/** What to do, by the parameter of the address. @throws PageProblem for anything else */
function readChange(parameters: URLSearchParams): SharedChange | 'revoke' {
  const change = [...keysOf(CHANGES), 'revoke' as const].find((one) => one === parameters.get('do'));
  if (change === undefined) throw new PageProblem(400, 'Incomplete form', 'Open the list of keys and choose again.');
  return change;
}

/** The selected keys that are not revoked. If none is selected, all of a list that was searched or filtered. */
async function selectedKeys(c: Context<AdminEnv>, parameters: URLSearchParams): Promise<readonly KeyDetails[]> {
  const ids = [...shownRevisions(parameters).keys()];
  const query = readKeyQuery(parameters);
  const keys =
    ids.length === 0 && isFiltered(query)
      ? (await listKeys(adminContext(c), query, todayOf(c), factOptions(c))).keys
      : await listKeysById(adminContext(c), ids);
  return keys.filter(({ state }) => state !== 'revoked');
}

/** The ids of the selected keys, each with its revision as the page showed it. */
const shownRevisions = (form: URLSearchParams): Map<string, number> =>
  new Map(
    form.getAll('key').map((key) => {
      const [id = '', revision] = key.split('.');
      return [id, Number(revision)];
    }),
  );

changeKeys.get('/change-keys', (c) => confirmChange(c, new URL(c.req.url).searchParams));

/** Asks for the new value and for confirmation, with the effect on each key; with the errors, if it was sent. */
async function confirmChange(c: Context<AdminEnv>, parameters: URLSearchParams, message?: string): Promise<Response> {
  const change = readChange(parameters);
  const query = readKeyQuery(parameters);
  const cancel = keyListPath(pageContext(c).base, query);
  const keys = await selectedKeys(c, parameters);
  const refuse = (why: string) => renderKeyList(c, query, { why, selected: [...shownRevisions(parameters).keys()] });
  if (keys.length === 0) return refuse(isFiltered(query) ? 'These keys are already revoked.' : 'No key was selected.');
  const confirm = {
    keys,
    action: c.req.path,
    fields: [
      ['do', change] as const,
      ...keys.map(({ id, revision }) => ['key', `${id}.${revision}`] as const),
      ...parametersOf(query),
    ],
    cancel,
  };
  if (change === 'revoke') {
    const button = `Revoke ${counted(keys.length, 'key')}`;
    const page = <ConfirmKeys {...confirm} button={button} isRevocation />;
    return render(c, `${button}?`, page, { trail: trail(c) });
  }
  const { effectOf, changeable, reasons, max, help } = await previewChange(adminContext(c), keys, change);
  if (changeable === 0) return refuse(reasons);
  const { title, label } = CHANGES[change];
  const count = counted(changeable, 'key');
  const messages = message === undefined ? {} : { to: message.replace(/^The list has /, 'You entered ') };
  const form = { values: parameters, ...(message !== undefined && { messages }) };
  const suggestions = change === 'owner' ? await listAdministratorNames(adminContext(c)) : undefined;
  const control = change === 'expires' ? 'date' : 'line';
  const page = (
    <>
      <ErrorSummary nothing="Nothing was changed." messages={form.messages} fields={[['to', label]]} />
      <ConfirmKeys {...{ ...confirm, columns: [['Effect', effectOf]], button: `Change ${count}` }}>
        <Field name="to" required {...{ form, control, label, suggestions, max, help }} />
      </ConfirmKeys>
    </>
  );
  return renderForm(c, `${title} ${count}`, page, form, { trail: trail(c) });
}

changeKeys.post('/change-keys', async (c) => {
  const form = await readForm(c);
  const change = readChange(form);
  const shown = shownRevisions(form);
  const ctx = adminContext(c);
  try {
    if (change !== 'revoke')
      return await renderOutcomes(
        c,
        form,
        shown.size,
        await changeSelectedKeys(ctx, shown, change, form.get('to') ?? ''),
      );
  } catch (err) {
    if (!hasCode(err, 'invalid')) throw err;
    return confirmChange(c, form, Object.values(messagesOf(err.errors))[0]);
  }
  // Read before: the page is shown even if the database fails in between.
  const keys = await listKeysById(ctx, [...shown.keys()]);
  const { confirmed, done, failed, cause } = await revokeSelectedKeys(ctx, [...shown.keys()]);
  if (done.length === confirmed.length)
    return redirectWith(c, keyListPath('', readKeyQuery(form)), revokedText(done.length));
  const outcomes = keys.map((key): KeyOutcome => {
    if (done.includes(key.id)) return { key, result: 'changed', why: NOTICES.revoked };
    if (failed.includes(key.id)) return { key, result: 'failed', why: 'It may still work. Revoke it again.' };
    return { key, result: 'left_alone', why: 'It had already been revoked.' };
  });
  return renderOutcomes(c, form, confirmed.length, { outcomes, cause });
});

const RESULTS: Record<KeyOutcome['result'], string> = {
  changed: 'Done',
  left_alone: 'Left alone',
  conflict: 'Not changed',
  failed: 'Failed',
};

/** Says what happened to each key. */
function renderOutcomes(
  c: Context<AdminEnv>,
  form: URLSearchParams,
  total: number,
  { outcomes, cause }: Awaited<ReturnType<typeof changeSelectedKeys>>,
): Promise<Response> {
  const numberOf = (result: KeyOutcome['result']) => outcomes.filter((one) => one.result === result).length;
  const [changed, failed] = [numberOf('changed'), numberOf('failed')];
  if (failed > 0) log('error', 'settings_unavailable', { requestId: c.get('requestId'), cause });
  const done = form.get('do') === 'revoke' ? 'revoked' : 'changed';
  const columns: TableColumn<KeyOutcome>[] = [
    ['Key', ({ key }) => <KeyName subject={key} />],
    ['Result', ({ result, why }) => `${RESULTS[result]}. ${why}`],
  ];
  const page = <Table caption="What happened to each key" columns={columns} rows={outcomes} />;
  const status = failed > 0 ? 503 : changed === 0 || numberOf('conflict') > 0 ? 409 : 200;
  const list = { href: keyListPath(pageContext(c).base, readKeyQuery(form)), text: 'Back to the list' };
  return render(c, `${changed} of ${counted(total, 'key')} ${done}`, page, { status, trail: [list] });
}

// --- all keys ------------------------------------------------------------------------------------

changeKeys.get('/revoke-all', (c) => confirmRevokeAll(c));

changeKeys.post('/revoke-all', async (c) => {
  const typed = (await readForm(c)).get('organization') ?? '';
  if (searchable(typed) !== searchable(c.get('administrator').organization.name)) return confirmRevokeAll(c, typed);
  const revoked = await revokeAllKeys(adminContext(c));
  return redirectWith(c, '/keys', revokedText(revoked));
});

/** Asks for the organization’s name; with the entered text, if that was another name. */
async function confirmRevokeAll(c: Context<AdminEnv>, typed?: string): Promise<Response> {
  const live = await countLiveKeys(adminContext(c));
  if (live === 0) return redirectWith(c, '/keys', 'The organization has no key in use.');
  const values = new URLSearchParams({ organization: typed ?? '' });
  const messages = { organization: 'This is not the organization’s name.' };
  const form = typed === undefined ? { values } : { values, messages };
  return renderForm(c, 'Revoke all keys?', <ConfirmRevokeAll live={live} form={form} />, form, { trail: trail(c) });
}

function ConfirmRevokeAll({ live, form }: { live: number; form: FormState }) {
  const { base, organization } = usePage();
  const name = <bdi>{organization}</bdi>;
  return (
    <>
      <p>
        All keys of <strong>{name}</strong> ({live} in use) stop working immediately, and every automation stops
        writing. This cannot be undone. Each workflow then needs a new key.
      </p>
      <ErrorSummary
        nothing="Nothing was revoked."
        messages={form.messages}
        fields={[['organization', 'Name of the organization']]}
      />
      <form method="post" class="form">
        <Field
          name="organization"
          form={form}
          control="line"
          label="Name of the organization"
          help={<>Type “{name}” to confirm.</>}
          required
        />
        <div class="actions">
          <button type="submit" class="danger">
            Revoke all keys
          </button>
          <a href={`${base}/keys`}>Cancel</a>
        </div>
      </form>
    </>
  );
}
